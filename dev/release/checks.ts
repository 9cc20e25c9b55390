import { existsSync, readdirSync } from "node:fs";
import { REPOSITORY } from "#api/v1beta1/pod-schema.ts";
import { Failure } from "../failure.ts";
import { run } from "../run.ts";

// Checks of arguments before a release writes anything.

/** Versions as Helm wants them, without build metadata, which tags of images cannot have: https://semver.org */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** @throws Failure when the text is no version */
export function checkedVersion(text: string): string {
  if (VERSION.test(text)) return text;
  throw new Failure(`VERSION is "${text}"; it must be a version without v, such as 0.2.0 or 0.3.0-rc.1.`);
}

/** Whether the version is for tests, such as 0.3.0-rc.1. */
export function isPreRelease(version: string): boolean {
  return version.includes("-");
}

/** @throws Failure when the text is no repository of images */
export function checkedRepository(text: string): string {
  if (text.includes("/") && new RegExp(REPOSITORY).test(text)) return text;
  throw new Failure(
    `--image is "${text}"; it must be an image without tag, such as registry.example/etcd-cluster-operator. The tag is the version.`,
  );
}

/**
 * Address of a site or folder.
 * @param option that has the text
 * @throws Failure when the text is no https URL, or one with a slash at its end
 */
export function checkedUrl(option: string, text: string): string {
  if (/^https:\/\/[a-z0-9.-]+(:\d+)?(\/[A-Za-z0-9._~-]+)*$/.test(text)) return text;
  throw new Failure(
    `${option} is "${text}"; it must be an https URL without a slash at its end, such as https://docs.example/etcd.`,
  );
}

/** @throws Failure when the folder exists and has files */
export function checkFolder(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Failure(`The folder ${folder} is not empty. Delete it, or name an empty folder with --folder.`);
}

/** The commit that a release is made of. */
export interface Commit {
  readonly commit: string;
  readonly isDirty: boolean;
  readonly created: Date;
}

/**
 * The commit in the work tree.
 * @param mayBeDirty whether files may differ from it
 * @param epoch SOURCE_DATE_EPOCH: https://reproducible-builds.org/specs/source-date-epoch/
 * @throws Failure when files differ from it and may not
 */
export async function commitOf(root: string, mayBeDirty: boolean, epoch: string | undefined): Promise<Commit> {
  const git = async (...args: string[]) => (await run("git", ["-C", root, ...args])).stdout.trim();
  const changed = await git("status", "--porcelain");
  if (changed !== "" && !mayBeDirty)
    throw new Failure(
      `Files differ from the commit, so the release could not be made from it again:\n${changed}\nCommit them. Or add --allow-dirty, for a release that is only tried.`,
    );
  const [commit = "", seconds = ""] = (await git("log", "-1", "--format=%H %ct")).split(" ");
  return { commit, isDirty: changed !== "", created: timeOf(epoch ?? seconds) };
}

/** Time from seconds since 1970. @throws Failure when the text is no such number */
export function timeOf(seconds: string): Date {
  const time = new Date(Number(seconds) * 1000);
  if (/^\d+$/.test(seconds) && !Number.isNaN(time.getTime())) return time;
  throw new Failure(`SOURCE_DATE_EPOCH is "${seconds}"; it must be a number of seconds since 1970.`);
}
