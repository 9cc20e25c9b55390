import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../archive/manifest.ts";
import { AgentError } from "../error.ts";
import { onDisk } from "./work-dir.ts";

/** What a member that starts with a fetched snapshot must have. Who fetches it leaves it for who compares: the manifest is in the object store. */
export interface Expectation {
  readonly key: string;
  /** The pod: its name is that of the host in each of its containers. */
  readonly host: string;
  /** The highest of the snapshot, in decimal. */
  readonly revision: string;
  /** Of the snapshot, in hexadecimal. */
  readonly sha256: string;
  /** Whether its etcd asked for users, and the one that is made of it does not. */
  readonly isAuthLifted?: true;
  /** What the manifest says; undefined where there is none. */
  readonly manifest?: Pick<Manifest, "revision" | "keys" | "hashKV">;
}

const FILE = "expected.json";

export async function leaveExpectation(workDir: string, expectation: Expectation): Promise<void> {
  await onDisk(workDir, () => writeFile(join(workDir, FILE), JSON.stringify(expectation), { mode: 0o600 }));
}

/** @throws AgentError Internal when nothing was fetched there */
export async function readExpectation(workDir: string): Promise<Expectation> {
  try {
    return JSON.parse(await readFile(join(workDir, FILE), "utf8")) as Expectation;
  } catch (thrown) {
    const message = `nothing tells what was fetched to ${workDir}: ${(thrown as Error).message}`;
    throw new AgentError("Internal", message, { cause: thrown });
  }
}
