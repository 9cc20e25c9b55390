import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "./failure.ts";
import type { ComponentName } from "./recipes.ts";
import { run } from "./run.ts";

// Why a slice? All long tests together take longer than anybody waits before a change lands, and what is never run rots. So
// every landing tells some of them, and the commit chooses which: told again, a commit tells the same ones.

/** Minutes of one slice. */
const SLICE_MINUTES = 10;

/** What is made ready before tests that cannot download it: a component, or Azurite, which npm installs. */
export type Build = ComponentName | "azurite";

/** File below test/long → minutes that it takes on two processors. */
export type Chapters = Readonly<Record<string, number>>;

interface ChaptersFile {
  readonly minutes: Chapters;
  /** What is built for a chapter alone; all others do without. */
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
 * What has to be built for the chapters that are told, besides what all of them need. Where they run, nothing can be downloaded.
 * @param filters as vitest takes them: a file is told when its path holds one of them, and every file when there is none
 */
export function buildsFor(root: string, filters: readonly string[]): Build[] {
  // What follows -t is a name, and no file.
  const parts = filters.filter((each, index) => each !== "-t" && filters[index - 1] !== "-t");
  const told = Object.entries(readFile(root).builds).filter(
    ([name]) => parts.length === 0 || parts.some((part) => `test/long/${name}`.includes(part)),
  );
  return [...new Set(told.flatMap(([, components]) => components))];
}

/**
 * The chapters that a commit tells: the one that its hash points at, and those that follow it in the circle, as long as they fit.
 * @param commit hash of the commit, in hexadecimal
 * @returns at least one, also when it alone takes longer
 */
export function sliceOf(chapters: Chapters, commit: string, minutes = SLICE_MINUTES): string[] {
  const names = Object.keys(chapters);
  const first = Number.parseInt(commit.slice(0, 8), 16) % names.length;
  const circle = [...names.slice(first), ...names.slice(0, first)];
  let left = minutes;
  const fit = circle.findIndex((name) => {
    left -= chapters[name] ?? 0;
    return left < 0;
  });
  return fit === -1 ? circle : circle.slice(0, Math.max(1, fit));
}

/** Hash of the commit that is checked out. @throws Failure with git's own words when it tells none */
export async function currentCommit(root: string): Promise<string> {
  const { code, stdout, stderr } = await run("git", ["-C", root, "rev-parse", "--verify", "HEAD"], { mayFail: true });
  if (code === 0) return stdout.trim();
  throw new Failure(
    `--slice: the commit chooses the slice, and git tells none; name chapters instead: npm run test:long -- FILE\n\ngit says: ${stderr.trim()}`,
  );
}
