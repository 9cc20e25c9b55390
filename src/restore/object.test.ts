import { expect, test } from "vitest";
import { BY_URL, goodObject, ON_VOLUME, restore, sourceBackup } from "#kit/snapshots/etcd-restore.ts";
import { secretNamesOf } from "#restore/object.ts";

function of(object: object) {
  return restore({ stage: "new", spec: { source: { object } } });
}

const OBJECTS: readonly [object, string, readonly string[]][] = [
  [{ s3: { bucket: "bb", key: "a/k", credentials: { secretName: "s" } } }, "s3://bb/a/k?s3ForcePathStyle=false", ["s"]],
  [{ gcs: { bucket: "bb", key: "a/k" } }, "gs://bb/a/k", []],
  [{ azure: { account: "acc", container: "con", key: "a/k" } }, "azblob://con/a/k?storage_account=acc", []],
  [{ volume: { claimName: "c", key: "a/k" } }, "volume://c/a/k", []],
  [{ url: { url: "gs://bb/a/k", credentials: { secretName: "s" } }, encryption: { keySecretRef: { name: "e" } } }, "gs://bb/a/k", ["s", "e"]],
]; // biome-ignore format: a table

for (const [object, url, secrets] of OBJECTS)
  test(`a restore from ${url} reads that object, with the Secrets [${secrets.join(", ")}]`, () => {
    const { target } = goodObject(of(object));
    expect([target.url, target.key]).toEqual([url, "a/k"]);
    expect(secretNamesOf(of(object))).toEqual(secrets);
  });

test("pods do not wait for the default credentials Secret, which may be missing", () => {
  expect(secretNamesOf(restore({ spec: BY_URL }))).toEqual([]);
  expect(secretNamesOf(restore({ spec: ON_VOLUME }))).toEqual(["key"]);
});

test("an EtcdBackup is restored from its status URL, with the key and Secrets of its spec", () => {
  const spec = {
    destination: { url: { template: "s3://bb/{{ .Name }}.db" } },
    encryption: { keySecretRef: { name: "e" } },
  };
  const backup = sourceBackup({ objectKey: "old.db", objectURL: "s3://bb/old.db?region=eu-1" }, spec);
  const { target, keySecretRef, expect: wanted } = goodObject(restore({ stage: "new", with: { backup } }));
  expect([target.key, target.url]).toEqual(["old.db", "s3://bb/old.db?region=eu-1"]);
  expect(keySecretRef).toEqual({ name: "e", key: "key" });
  expect(wanted).toEqual({ backupUID: backup.metadata.uid, sha256: "ab" });
});

test("a restore of an EtcdBackup may name another key than the EtcdBackup", () => {
  const backup = sourceBackup({}, { encryption: { keySecretRef: { name: "replaced", key: "key" } } });
  const source = { backupName: backup.metadata.name, encryption: { keySecretRef: { name: "old", key: "key" } } };
  const snapshot = restore({ stage: "new", spec: { source }, with: { backup } });
  expect(goodObject(snapshot).keySecretRef).toEqual({ name: "old", key: "key" });
  expect(secretNamesOf(snapshot)).toContain("old");
  expect(secretNamesOf(snapshot)).not.toContain("replaced");
});
