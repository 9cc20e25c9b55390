import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "./failure.ts";
import type { ComponentName } from "./recipes.ts";
import { run } from "./run.ts";

// Why a slice? All long tests together take too long before each landing, and tests that never run rot. So every
// landing runs some of them. The commit's hash chooses which, so that a second run of a commit runs the same ones.

/** Minutes of one slice. */
const SLICE_MINUTES = 10;
/** Minutes of the longest chapter that a slice may have: a landing has no time for more. Longer ones are run by name. */
const MOST_MINUTES = 15;

/**
 * What is made before tests, which cannot download it. Beside components: Azurite from npm, Node and libraries of the
 * released image, the site's packages and a browser.
 */
export type Build = ComponentName | "azurite" | "pinned-base" | "site";

/** File below test/long → its minutes on two processors. */
export type Chapters = Readonly<Record<string, number>>;

interface ChaptersFile {
  readonly minutes: Chapters;
  /** Builds that only some chapters need, by chapter. */
  readonly builds: Readonly<Record<string, readonly Build[]>>;
}

/** The chapters of the long tests, in their order. @param root the repository */
export function readChapters(root: string): Chapters {
  return readFile(root).minutes;
}

function readFile(root: string): ChaptersFile {
  return JSON.parse(readFileSync(join(root, "test", "long", "chapters.json"), "utf8")) as ChaptersFile;
}

/**
 * Builds that the chapters of a run need in addition to the common ones. They are made before, as nothing can be
 * downloaded inside the network.
 * @param filters of vitest: a file runs when its path contains one of them; all files run when there is none
 */
export function buildsFor(root: string, filters: readonly string[]): Build[] {
  // The argument after -t is the name of a test.
  const parts = filters.filter((each, index) => each !== "-t" && filters[index - 1] !== "-t");
  const chosen = Object.entries(readFile(root).builds).filter(
    ([name]) => parts.length === 0 || parts.some((part) => `test/long/${name}`.includes(part)),
  );
  return [...new Set(chosen.flatMap(([, components]) => components))];
}

/**
 * Chapters that a commit runs: the one that its hash chooses, and the next ones in a circle while they fit.
 * @param commit hash of the commit, in hexadecimal
 * @returns at least one, also when it is longer than `minutes`, but none that is longer than MOST_MINUTES
 */
export function sliceOf(chapters: Chapters, commit: string, minutes = SLICE_MINUTES): string[] {
  const names = Object.keys(chapters).filter((name) => (chapters[name] ?? 0) <= MOST_MINUTES);
  const first = Number.parseInt(commit.slice(0, 8), 16) % names.length;
  const circle = [...names.slice(first), ...names.slice(0, first)];
  let left = minutes;
  const fit = circle.findIndex((name) => {
    left -= chapters[name] ?? 0;
    return left < 0;
  });
  return fit === -1 ? circle : circle.slice(0, Math.max(1, fit));
}

/** Hash of the commit that is checked out. @throws Failure with git's own message when there is none */
export async function currentCommit(root: string): Promise<string> {
  const { code, stdout, stderr } = await run("git", ["-C", root, "rev-parse", "--verify", "HEAD"], { mayFail: true });
  if (code === 0) return stdout.trim();
  throw new Failure(
    `--slice: the commit's hash chooses the slice, and git finds no commit. Name chapters instead: npm run test:long -- FILE\n\ngit printed: ${stderr.trim()}`,
  );
}
