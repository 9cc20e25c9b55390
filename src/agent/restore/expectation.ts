import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../archive/manifest.ts";
import { AgentError } from "../error.ts";
import { onDisk } from "./work-dir.ts";

/**
 * What a member that starts with the fetched snapshot must have. The fetching container leaves it for the later ones,
 * which have no access to the manifest.
 */
export interface Expectation {
  readonly key: string;
  /** Name of the pod: the hostname in each of its containers. */
  readonly host: string;
  /** Highest revision of the snapshot, in decimal. */
  readonly revision: string;
  /** SHA-256 of the snapshot, in hexadecimal. */
  readonly sha256: string;
  /** Whether authentication was enabled in the snapshot and was disabled for the throw-away etcd. */
  readonly isAuthLifted?: true;
  /** Fields of the manifest; undefined without a manifest. */
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
    const message = `what was fetched to ${workDir} is not recorded: ${(thrown as Error).message}`;
    throw new AgentError("Internal", message, { cause: thrown });
  }
}
