import { relative } from "node:path";
import type { Count, FileCount } from "./count.ts";
import type { Level } from "./levels.ts";

// Levels are told side by side, and a machine that has too much to do starves whoever has a real clock: a server that answers after its
// deadline is gone for a test, and rightly so. Whether what failed is a defect or the neighbours shows when it is told without them.
// docs/adr/0037-what-failed-beside-others-is-told-again-alone.md

/** So many files at the most: where more fail, it is not for their neighbours. */
const MOST_FILES = 3;

/**
 * Whose tests have a real clock and servers of their own. What only computes says the same again, and is not asked; nor are the tests of the e2e level, which share
 * one operator, one after another: alone they would have another one.
 */
const LEVEL_OF: readonly (readonly [folder: string, level: Level])[] = [
  ["src/", "unit"],
  ["dev/", "unit"],
  ["test/apiserver/", "apiserver"],
  ["test/etcd/", "etcd"],
  ["test/objectstore/", "stores"],
];

/** A property that found a case found it by chance: without it, it would say nothing. */
const BY_CHANCE = /Property failed after/;

/** Runs files of a level, named below the root, with nothing beside them. */
export type Alone = (level: Level, files: readonly string[]) => Promise<Count>;

/**
 * Tells what failed beside others once more, alone. A file whose tests all pass then counts as passed, and what failed before is listed as
 * unsteady: it is shown, since it wants a mend, and fails nothing.
 * @param root the repository, below which the files are
 */
export async function againAlone(root: string, count: Count, alone: Alone): Promise<Count> {
  const failed = count.files.filter((file) => file.failed > 0);
  if (failed.length > MOST_FILES) return count;
  const again: FileCount[] = [];
  for (const [folder, level] of LEVEL_OF) {
    const names = failed
      .filter(({ failures }) => !failures.some((each) => BY_CHANCE.test(each)))
      .map(({ name }) => relative(root, name))
      .filter((name) => name.startsWith(folder));
    if (names.length === 0) continue;
    const second = await alone(level, names);
    if (second.failed === failedIn(second.files)) again.push(...second.files); // Else something went wrong that is no file's: it excuses nobody.
  }
  return failed.reduce(
    (all, file) =>
      replaced(
        all,
        file,
        again.find(({ name }) => name === file.name),
      ),
    count,
  );
}

function failedIn(files: readonly FileCount[]): number {
  return files.reduce((all, { failed }) => all + failed, 0);
}

function replaced(count: Count, first: FileCount, second: FileCount | undefined): Count {
  if (second === undefined || !isWhole(first, second)) return count;
  return {
    passed: count.passed - first.passed + second.passed,
    failed: count.failed - first.failed,
    skipped: count.skipped - first.skipped + second.skipped,
    failures: count.failures.filter((each) => !first.failures.includes(each)),
    files: count.files.map((file) => (file === first ? second : file)),
    unsteady: [...count.unsteady, ...first.failures],
  };
}

/** Whether all passed now that was told before. What is skipped says nothing, and who failed around its tests has skipped them. */
function isWhole(first: FileCount, second: FileCount): boolean {
  const skippable = first.isAround ? 0 : first.skipped;
  return second.failed === 0 && second.passed >= first.passed + first.failed && second.skipped <= skippable;
}
