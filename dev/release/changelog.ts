import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { isPreRelease } from "./checks.ts";

/**
 * The part of CHANGELOG.md about a version, without its heading.
 * @throws Failure when there is none, and the version is no pre-release
 */
export function changesOf(text: string, version: string): string {
  const parts = text.split(/^## /m).slice(1);
  const part = parts.find((each) => /^\S+/.exec(each)?.[0] === version);
  if (part !== undefined) return part.slice(part.indexOf("\n")).trim();
  if (isPreRelease(version)) return "A version for tests.";
  throw new Failure(`CHANGELOG.md has no part "## ${version}". Write there what users get with this version.`);
}

/** The part of the repository's CHANGELOG.md. @param root the repository */
export function changes(root: string, version: string): string {
  return changesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
}
