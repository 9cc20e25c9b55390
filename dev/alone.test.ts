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

/** Tells these files alone. */
function telling(...files: FileCount[]) {
  const asked: [level: string, files: readonly string[]][] = [];
  const alone: Alone = (level, names) => {
    asked.push([level, names]);
    return Promise.resolve(countOf(...files.filter(({ name }) => names.some((each) => name === `/repo/${each}`))));
  };
  return { alone, asked };
}

const WELL = fileOf("test/etcd/well.test.ts", 7, 0);
const STORE = "test/objectstore/store.test.ts";

test("alone: what fails beside others and passes without them counts as passed, and is shown", async () => {
  const { alone, asked } = telling(fileOf(STORE, 5, 0, 1), fileOf("src/a.test.ts", 3, 0));
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

test("alone: three files are told again", async () => {
  const files = [1, 2, 3].map((n) => `src/${n}.test.ts`);
  const { alone } = telling(...files.map((name) => fileOf(name, 2, 0)));
  expect((await againAlone("/repo", countOf(...files.map((name) => fileOf(name, 1, 1))), alone)).failed).toBe(0);
});

test.each([
  ["fails again", [fileOf(STORE, 4, 1)]],
  ["is skipped alone", [fileOf(STORE, 0, 0, 5)]],
  ["is skipped in part alone", [fileOf(STORE, 4, 0, 1)]],
  ["passes and skips another alone", [fileOf(STORE, 5, 0, 1)]],
  ["cannot be told alone", []],
])("alone: what %s has failed", async (_why, second) => {
  const first = countOf(WELL, fileOf(STORE, 4, 1));
  expect(await againAlone("/repo", first, telling(...second).alone)).toEqual(first);
});

test("alone: what fails around its tests is whole alone when none of them is skipped", async () => {
  const first = { ...fileOf(STORE, 0, 1, 3), isAround: true };
  expect(await againAlone("/repo", countOf(first), telling(fileOf(STORE, 3, 0)).alone)).toMatchObject({
    failed: 0,
    skipped: 0,
  });
  expect(await againAlone("/repo", countOf(first), telling(fileOf(STORE, 1, 0, 2)).alone)).toMatchObject({ failed: 1 });
});

test("alone: when something goes wrong that is no file's, nothing is excused", async () => {
  const { alone } = telling(fileOf(STORE, 5, 0));
  const wrong: Alone = async (level, files) => sum(await alone(level, files), oneFailed("an error that nobody caught"));
  const first = countOf(WELL, fileOf(STORE, 4, 1));
  expect(await againAlone("/repo", first, wrong)).toEqual(first);
});

test("alone: what a property has found by chance is not told again", async () => {
  const failures = [`/repo/${STORE}: it holds – Error: Property failed after 7 tests`];
  const first = countOf({ ...fileOf(STORE, 4, 1), failures });
  expect(await againAlone("/repo", first, telling(fileOf(STORE, 5, 0)).alone)).toEqual(first);
});

test.each([
  ["src/", "unit"],
  ["dev/", "unit"],
  ["test/apiserver/", "apiserver"],
  ["test/etcd/", "etcd"],
  ["test/objectstore/", "stores"],
])("alone: %s is told by level %s", async (folder, level) => {
  const { alone, asked } = telling();
  await againAlone("/repo", countOf(fileOf(`${folder}a.test.ts`, 1, 1)), alone);
  expect(asked).toEqual([[level, [`${folder}a.test.ts`]]]);
});

test("alone: one that passes does not excuse another", async () => {
  const other = fileOf("test/objectstore/other.test.ts", 1, 1);
  const { alone } = telling(fileOf(STORE, 5, 0), other);
  const { failed, failures } = await againAlone("/repo", countOf(fileOf(STORE, 4, 1), other), alone);
  expect({ failed, failures }).toEqual({ failed: 1, failures: other.failures });
});

test.each([
  ["of four files, which is not for their neighbours", [1, 2, 3, 4].map((n) => fileOf(`src/${n}.test.ts`, 1, 1))],
  ["that only computes", ["unit", "simulation", "mutation"].map((name) => fileOf(`test/${name}/a.test.ts`, 1, 1))],
  ["that shares one operator", [fileOf("test/e2e/a.test.ts", 1, 1)]],
])("alone: what failed %s is not told again", async (_which, files) => {
  const { alone, asked } = telling(...files.map(({ name }) => fileOf(name.slice("/repo/".length), 2, 0)));
  expect(await againAlone("/repo", countOf(...files), alone)).toEqual(countOf(...files));
  expect(asked).toEqual([]);
});

test("alone: what failed around a level stays a failure", async () => {
  const { alone } = telling(fileOf(STORE, 5, 0));
  const around = oneFailed("what is around the tests of level e2e: see there");
  const told = await againAlone("/repo", sum(countOf(fileOf(STORE, 4, 1)), around), alone);
  expect(told).toMatchObject({ passed: 5, failed: 1, failures: around.failures });
});
