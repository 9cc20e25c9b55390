import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { bodyOf, bytesOf, MIB, read } from "./bodies.ts";
import { BRISK, never, openPlace, refused } from "./contract.ts";

afterAll(removeTemporaryDirs);

const OPTIONS = { signal: never };
const open = (path: string) => openPlace({ location: { store: "volume", path } }, BRISK);
const incomplete = (root: string) => readdirSync(join(root, ".objectstore", "incomplete"));
const metadata = (root: string) => readdirSync(join(root, ".objectstore", "metadata"));

/** A new file system. */
function mounted(options: string): string {
  const root = join(temporaryDir("mounted"), "disk");
  mkdirSync(root);
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "etcd-cluster-operator-test", root]);
  onTestFinished(() => {
    execFileSync("umount", [root]);
    rmdirSync(root);
  });
  return root;
}

test("a full volume reports NoSpace, keeps its objects, and accepts an object that still fits", async () => {
  const root = mounted("size=10m");
  const store = await open(root);
  const first = bytesOf(6 * MIB);
  await store.put("first", bodyOf(first), OPTIONS);
  for (const size of [5 * MIB, 50 * MIB]) {
    expect(await refused(store.put(`full/${size}`, bodyOf(bytesOf(size)), OPTIONS))).toBe("NoSpace");
    expect(await store.head(`full/${size}`, OPTIONS)).toBeUndefined();
    expect(incomplete(root)).toEqual([]);
  }
  await store.put("fits", bodyOf(bytesOf(3 * MIB)), OPTIONS);
  expect((await read(store.get("first", OPTIONS))).equals(first)).toBe(true);
});

test("a read-only volume reports AccessDenied on writes, and can be read", async () => {
  const root = mounted("size=1m");
  writeFileSync(join(root, "there"), "kept");
  execFileSync("mount", ["-o", "remount,ro", root]);
  const store = await open(root);
  expect(await refused(store.put("a", bodyOf(bytesOf(1)), OPTIONS))).toBe("AccessDenied");
  expect((await read(store.get("there", OPTIONS))).toString()).toBe("kept");
});

test("a missing directory is reported as NoSuchBucket for every call, and is not created", async () => {
  const root = join(temporaryDir("volume"), "absent");
  const store = await open(root);
  const list = async () => {
    for await (const _ of store.list("", OPTIONS)) break;
  };
  expect(await refused(store.put("a/b", bodyOf(bytesOf(1)), OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(read(store.get("a/b", OPTIONS)))).toBe("NoSuchBucket");
  expect(await refused(store.head("a/b", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(store.delete("a/b", OPTIONS))).toBe("NoSuchBucket");
  expect(await refused(list())).toBe("NoSuchBucket");
  expect(existsSync(root)).toBe(false);
});

test("files of other programs are objects without metadata, and folders and internal files are not objects", async () => {
  const root = temporaryDir("volume");
  const store = await open(root);
  await store.put("ours/a", bodyOf(bytesOf(3)), { ...OPTIONS, metadata: { who: "we" } });
  mkdirSync(join(root, "theirs"));
  writeFileSync(join(root, "theirs", "b"), "four");
  const listed: string[] = [];
  for await (const { key, bytes } of store.list("", OPTIONS)) listed.push(`${key} ${bytes}`);
  expect(listed.sort()).toEqual(["ours/a 3", "theirs/b 4"]);
  expect((await store.head("ours/a", OPTIONS))?.metadata).toEqual({ who: "we" });
  expect((await store.head("theirs/b", OPTIONS))?.metadata).toEqual({});
  expect(await store.head("theirs", OPTIONS)).toBeUndefined();
  expect(await refused(read(store.get("theirs", OPTIONS)))).toBe("NoSuchObject");
  expect(await refused(store.put("theirs/b/c", bodyOf(bytesOf(1)), OPTIONS))).toBe("InvalidLocation");
  expect(await refused(store.put("theirs", bodyOf(bytesOf(1)), OPTIONS))).toBe("ObjectExists");
  expect(await refused(store.put(".objectstore/x", bodyOf(bytesOf(1)), OPTIONS))).toBe("InvalidLocation");
  expect(incomplete(root)).toEqual([]);
});

test("in a volume copied file by file, no object has the metadata of a different object", async () => {
  const root = temporaryDir("volume");
  const store = await open(root);
  for (const key of ["a", "b"]) await store.put(key, bodyOf(bytesOf(3)), { ...OPTIONS, metadata: { who: key } });
  const file = (key: string) => join(root, ".objectstore", "metadata", `${statSync(join(root, key)).ino}.json`);
  // The state when the copy gives a the inode number that b had.
  copyFileSync(file("b"), file("a"));
  expect((await store.head("a", OPTIONS))?.metadata).toEqual({});
  expect((await store.head("b", OPTIONS))?.metadata).toEqual({ who: "b" });
  // Earlier releases did not record the key in the metadata.
  writeFileSync(file("a"), JSON.stringify({ who: "a" }));
  expect((await store.head("a", OPTIONS))?.metadata).toEqual({ who: "a" });
});

test("metadata is deleted with its object and after a refused write", async () => {
  const root = temporaryDir("volume");
  const store = await open(root);
  await store.put("a", bodyOf(bytesOf(3)), OPTIONS);
  expect(await refused(store.put("a", bodyOf(bytesOf(3)), OPTIONS))).toBe("ObjectExists");
  expect(metadata(root)).toHaveLength(1);
  await store.delete("a", OPTIONS);
  expect(metadata(root)).toEqual([]);
});

test("an incomplete file of a killed process is deleted 15 minutes after its last write", async () => {
  const root = temporaryDir("volume");
  const store = await open(root);
  await store.put("a", bodyOf(bytesOf(3)), OPTIONS);
  const folder = join(root, ".objectstore", "incomplete");
  for (const name of ["old", "young"]) writeFileSync(join(folder, name), name);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  utimesSync(join(folder, "old"), minutesAgo(16), minutesAgo(16));
  utimesSync(join(folder, "young"), minutesAgo(14), minutesAgo(14));
  await store.put("b", bodyOf(bytesOf(3)), OPTIONS);
  expect(incomplete(root)).toEqual(["young"]);
});
