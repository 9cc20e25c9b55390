import { expect, test } from "vitest";
import { type Alone, againAlone } from "./alone.ts";
import { type Count, type FileCount, NONE, oneFailed, sum } from "./count.ts";

function fileOf(name: string, passed: number, failed: number, skipped = 0): FileCount {
  const failures = Array.from({ length: failed }, (_, n) => `/repo/${name}: test ${n}`);
  return { name: `/repo/${name}`, ms: 1, passed, failed, skipped, failures, isAround: false };
}

function countOf(...files: FileCount[]): Count {
  return files.reduce((all, file) => sum(all, { ...NONE, ...file, files: [file] }), NONE);
}

/** A fake run of single files, which returns these results. */
function rerunning(...files: FileCount[]) {
  const asked: [level: string, files: readonly string[]][] = [];
  const alone: Alone = (level, names) => {
    asked.push([level, names]);
    return Promise.resolve(countOf(...files.filter(({ name }) => names.some((each) => name === `/repo/${each}`))));
  };
  return { alone, asked };
}

const WELL = fileOf("test/etcd/well.test.ts", 7, 0);
const STORE = "test/objectstore/store.test.ts";

test("rerun alone: a file that fails in parallel and passes alone counts as passed and is listed as unsteady", async () => {
  const { alone, asked } = rerunning(fileOf(STORE, 5, 0, 1), fileOf("src/a.test.ts", 3, 0));
  const first = countOf(WELL, fileOf(STORE, 4, 1, 1), fileOf("src/a.test.ts", 1, 2));
  expect(await againAlone("/repo", first, alone)).toEqual({
    ...countOf(WELL, fileOf(STORE, 5, 0, 1), fileOf("src/a.test.ts", 3, 0)),
    unsteady: [`/repo/${STORE}: test 0`, "/repo/src/a.test.ts: test 0", "/repo/src/a.test.ts: test 1"],
  });
  expect(asked).toEqual([
    ["unit", ["src/a.test.ts"]],
    ["stores", [STORE]],
  ]);
});

test("rerun alone: up to three failed files run again", async () => {
  const files = [1, 2, 3].map((n) => `src/${n}.test.ts`);
  const { alone } = rerunning(...files.map((name) => fileOf(name, 2, 0)));
  expect((await againAlone("/repo", countOf(...files.map((name) => fileOf(name, 1, 1))), alone)).failed).toBe(0);
});

test.each([
  ["fails again", [fileOf(STORE, 4, 1)]],
  ["is skipped", [fileOf(STORE, 0, 0, 5)]],
  ["is skipped in part", [fileOf(STORE, 4, 0, 1)]],
  ["passes and skips another test", [fileOf(STORE, 5, 0, 1)]],
  ["does not take place", []],
])("rerun alone: a file stays failed when its second run %s", async (_why, second) => {
  const first = countOf(WELL, fileOf(STORE, 4, 1));
  expect(await againAlone("/repo", first, rerunning(...second).alone)).toEqual(first);
});

test("rerun alone: a file that failed in a hook counts as passed when its second run skips no test", async () => {
  const first = { ...fileOf(STORE, 0, 1, 3), isAround: true };
  expect(await againAlone("/repo", countOf(first), rerunning(fileOf(STORE, 3, 0)).alone)).toMatchObject({
    failed: 0,
    skipped: 0,
  });
  expect(await againAlone("/repo", countOf(first), rerunning(fileOf(STORE, 1, 0, 2)).alone)).toMatchObject({
    failed: 1,
  });
});

test("rerun alone: all files stay failed after an uncaught error in the second run", async () => {
  const { alone } = rerunning(fileOf(STORE, 5, 0));
  const wrong: Alone = async (level, files) => sum(await alone(level, files), oneFailed("an uncaught error"));
  const first = countOf(WELL, fileOf(STORE, 4, 1));
  expect(await againAlone("/repo", first, wrong)).toEqual(first);
});

test("rerun alone: a file with a failed property test is not run again", async () => {
  const failures = [`/repo/${STORE}: it holds – Error: Property failed after 7 tests`];
  const first = countOf({ ...fileOf(STORE, 4, 1), failures });
  expect(await againAlone("/repo", first, rerunning(fileOf(STORE, 5, 0)).alone)).toEqual(first);
});

test.each([
  ["src/", "unit"],
  ["dev/", "unit"],
  ["test/apiserver/", "apiserver"],
  ["test/etcd/", "etcd"],
  ["test/objectstore/", "stores"],
])("rerun alone: files in %s run again in level %s", async (folder, level) => {
  const { alone, asked } = rerunning();
  await againAlone("/repo", countOf(fileOf(`${folder}a.test.ts`, 1, 1)), alone);
  expect(asked).toEqual([[level, [`${folder}a.test.ts`]]]);
});

test("rerun alone: a file that fails again stays failed when another file passes", async () => {
  const other = fileOf("test/objectstore/other.test.ts", 1, 1);
  const { alone } = rerunning(fileOf(STORE, 5, 0), other);
  const { failed, failures } = await againAlone("/repo", countOf(fileOf(STORE, 4, 1), other), alone);
  expect({ failed, failures }).toEqual({ failed: 1, failures: other.failures });
});

test.each([
  ["in one of four failed files", [1, 2, 3, 4].map((n) => fileOf(`src/${n}.test.ts`, 1, 1))],
  [
    "in a level without servers",
    ["unit", "simulation", "mutation"].map((name) => fileOf(`test/${name}/a.test.ts`, 1, 1)),
  ],
  ["in level e2e", [fileOf("test/e2e/a.test.ts", 1, 1)]],
])("rerun alone: a failure %s is not run again", async (_which, files) => {
  const { alone, asked } = rerunning(...files.map(({ name }) => fileOf(name.slice("/repo/".length), 2, 0)));
  expect(await againAlone("/repo", countOf(...files), alone)).toEqual(countOf(...files));
  expect(asked).toEqual([]);
});

test("rerun alone: a failure outside of all files stays a failure", async () => {
  const { alone } = rerunning(fileOf(STORE, 5, 0));
  const around = oneFailed("level e2e: setup or teardown failed, see above");
  const count = await againAlone("/repo", sum(countOf(fileOf(STORE, 4, 1)), around), alone);
  expect(count).toMatchObject({ passed: 5, failed: 1, failures: around.failures });
});
