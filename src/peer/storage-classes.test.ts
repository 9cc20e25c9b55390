import { expect, test } from "vitest";
import type { StorageClass } from "#kube/kinds.ts";
import { StorageClasses } from "#peer/storage-classes.ts";

const never = new AbortController().signal;
const classes = [{ metadata: { name: "local" } }] as unknown as StorageClass[];

/** Reads that end one by one. */
function held() {
  const reads: PromiseWithResolvers<{ items: StorageClass[]; resourceVersion: string }>[] = [];
  const list = () => {
    const read = Promise.withResolvers<{ items: StorageClass[]; resourceVersion: string }>();
    reads.push(read);
    return read.promise;
  };
  const answer = () => reads.at(-1)?.resolve({ items: classes, resourceVersion: "1" });
  return { reads, answer, storageClasses: new StorageClasses({ list } as never) };
}

test("concurrent reads of the storage classes share one request, and a later read sends another", async () => {
  const { reads, answer, storageClasses } = held();
  const asked = Array.from({ length: 300 }, () => storageClasses.read(never));
  answer();
  expect(new Set(await Promise.all(asked)).size).toBe(1);
  expect(await asked[0]).toEqual({ is: "present", value: classes });
  expect(reads).toHaveLength(1);
  const later = storageClasses.read(never);
  answer();
  await later;
  expect(reads).toHaveLength(2);
});

test("a cancelled read of the storage classes fails at once, and the others continue", async () => {
  const { answer, storageClasses } = held();
  const stop = new AbortController();
  const gaveUp = expect(storageClasses.read(stop.signal)).rejects.toThrow("enough");
  const other = storageClasses.read(never);
  stop.abort(new Error("enough"));
  await gaveUp;
  answer();
  expect(await other).toEqual({ is: "present", value: classes });
  await expect(storageClasses.read(stop.signal)).rejects.toThrow("enough");
});

test("a read of the storage classes after a failed one sends another request", async () => {
  const { reads, answer, storageClasses } = held();
  const failed = expect(storageClasses.read(never)).rejects.toThrow("a fault");
  reads[0]?.reject(new Error("a fault"));
  await failed;
  const next = storageClasses.read(never);
  answer();
  expect(await next).toEqual({ is: "present", value: classes });
});
