import { relative } from "node:path";
import type { Count, FileCount } from "./count.ts";
import type { Level } from "./levels.ts";

// Levels are told side by side, and a machine that has too much to do starves whoever has a real clock: a server that answers after its
// deadline is gone for a test, and rightly so. Whether what failed is a defect or the neighbours shows when it is told without them.
// docs/adr/0037-what-failed-beside-others-is-told-again-alone.md

/** So many files at the most: where more fail, it is not for their neighbours. */
const MOST_FILES = 3;

/** Whose tests have a real clock. What only computes says the same again; it is not asked. */
const LEVEL_OF: readonly (readonly [folder: string, level: Level])[] = [
  ["src/", "unit"],
  ["dev/", "unit"],
  ["test/apiserver/", "apiserver"],
  ["test/etcd/", "etcd"],
  ["test/objectstore/", "stores"],
  ["test/e2e/", "e2e"],
];

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
    const names = failed.map(({ name }) => relative(root, name)).filter((name) => name.startsWith(folder));
    if (names.length > 0) again.push(...(await alone(level, names)).files);
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

/** Whether all passed now that was told before: what is skipped alone says nothing. */
function isWhole(first: FileCount, second: FileCount): boolean {
  return second.failed === 0 && second.passed >= first.passed + first.failed;
}
