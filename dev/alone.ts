import { relative } from "node:path";
import type { Count, FileCount } from "./count.ts";
import type { Level } from "./levels.ts";

// Why a second run? Levels run in parallel, and on a busy machine tests with a real clock may fail: for them a server
// that answers late is down. A second run without other tests shows whether the failure is a defect:
// docs/adr/0028-test-lanes.md.

/** Most files that run again: when more fail, the cause is not the load of other tests. */
const MOST_FILES = 3;

/**
 * Folders of tests with a real clock and their own servers, and the level of each. Tests that only compute would fail
 * again and are left out. So are e2e tests: they share one operator, and alone they would get a fresh one.
 */
const LEVEL_OF: readonly (readonly [folder: string, level: Level])[] = [
  ["src/", "unit"],
  ["dev/", "unit"],
  ["test/apiserver/", "apiserver"],
  ["test/etcd/", "etcd"],
  ["test/objectstore/", "stores"],
  ["test/hostile/", "hostile"],
];

/** Mark of a failed property: it found its case by chance, so a pass of the second run proves nothing. */
const BY_CHANCE = /Property failed after/;

/** Runs files of a level, as paths below the root, with no other tests in parallel. */
export type Alone = (level: Level, files: readonly string[]) => Promise<Count>;

/**
 * Runs failed files once more, alone. A file counts as passed when all of its tests pass then. Its earlier failures are
 * listed as unsteady: they are shown, since the tests need a fix, and fail nothing.
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
    // Otherwise the second run had an error outside of all files, and proves nothing.
    if (second.failed === failedIn(second.files)) again.push(...second.files);
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

/**
 * Whether all tests of the first run passed in the second. Only tests that the first run skipped may be skipped again.
 */
function isWhole(first: FileCount, second: FileCount): boolean {
  const skippable = first.isAround ? 0 : first.skipped;
  return second.failed === 0 && second.passed >= first.passed + first.failed && second.skipped <= skippable;
}
