import { expect, test } from "vitest";
import { TASK_VARIABLE } from "#agent/task.ts";
import type { Attempted } from "#agent-job/job-state.ts";
import { targetOf } from "#backup/target.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { backup } from "#kit/snapshots/etcd-backup.ts";
import type { Job } from "#kube/kinds.ts";

const { uid } = cluster().cluster.metadata;
const KEY = `foo/my-etcd/${uid}/20260101T115900Z-nightly-01234567.db`;

function target(spec: object, given: Parameters<typeof backup>[0] = {}) {
  return targetOf(backup({ stage: "new", ...given, spec }));
}

test.each([
  [
    {
      s3: {
        bucket: "bb",
        prefix: "p/q",
        endpoint: "http://m:9000",
        region: "eu-1",
        pathStyle: true,
        credentials: { secretName: "s" },
      },
    },
    {
      location: { store: "s3", bucket: "bb", endpoint: "http://m:9000", region: "eu-1", pathStyle: true },
      key: `p/q/${KEY}`,
      url: `s3://bb/p/q/${KEY}?endpoint=http%3A%2F%2Fm%3A9000&region=eu-1&s3ForcePathStyle=true`,
      credentials: { secretName: "s", isOptional: false },
    },
  ],
  [
    {
      s3: {
        bucket: "bb",
        serverSideEncryption: "aws:kms",
        kmsKeyID: "alias/k",
        storageClass: "STANDARD_IA",
        tags: { team: "shop" },
      },
    },
    {
      location: {
        store: "s3",
        bucket: "bb",
        pathStyle: false,
        storage: {
          serverSideEncryption: "aws:kms",
          kmsKeyID: "alias/k",
          storageClass: "STANDARD_IA",
          tags: { team: "shop" },
        },
      },
      key: KEY,
      url: `s3://bb/${KEY}?s3ForcePathStyle=false`,
    },
  ],
  [
    { s3: { bucket: "bb", tags: {} } },
    {
      location: { store: "s3", bucket: "bb", pathStyle: false },
      key: KEY,
      url: `s3://bb/${KEY}?s3ForcePathStyle=false`,
    },
  ],
  [
    { s3: { bucket: "bb" } },
    {
      location: { store: "s3", bucket: "bb", pathStyle: false },
      key: KEY,
      url: `s3://bb/${KEY}?s3ForcePathStyle=false`,
    },
  ],
  [
    { gcs: { bucket: "bb", endpoint: "http://g" } },
    {
      location: { store: "gcs", bucket: "bb", endpoint: "http://g" },
      key: KEY,
      url: `gs://bb/${KEY}?endpoint=http%3A%2F%2Fg`,
    },
  ],
  [
    { azure: { account: "acc", container: "con", prefix: "p", credentials: { secretName: "s" } } },
    {
      location: { store: "azure", account: "acc", container: "con" },
      key: `p/${KEY}`,
      url: `azblob://con/p/${KEY}?storage_account=acc`,
      credentials: { secretName: "s", isOptional: false },
    },
  ],
  [
    { volume: { claimName: "c" } },
    { location: { store: "volume", path: "/volume" }, key: KEY, url: `volume://c/${KEY}`, claimName: "c" },
  ],
  [
    { volume: { claimName: "c", path: "p" } },
    { location: { store: "volume", path: "/volume" }, key: `p/${KEY}`, url: `volume://c/p/${KEY}`, claimName: "c" },
  ],
  [
    { url: { template: "s3://bb/{{ .Namespace }}/{{.Name}}/{{- .UID -}}/{{ .CreationTimestamp }}.db?region=eu-1" } },
    {
      location: { store: "s3", bucket: "bb", region: "eu-1" },
      key: "foo/nightly/0123456789-uid-of-backup/2026-01-01T11:59:00Z.db",
      url: "s3://bb/foo/nightly/0123456789-uid-of-backup/2026-01-01T11%3A59%3A00Z.db?region=eu-1",
      credentials: { secretName: "etcd-backup-credentials", isOptional: true },
    },
  ],
  [
    { url: { template: "gs://bb/k", credentials: { secretName: "g" } } },
    {
      location: { store: "gcs", bucket: "bb" },
      key: "k",
      url: "gs://bb/k",
      credentials: { secretName: "g", isOptional: false },
    },
  ],
])("destination %j gives the object's location, key, URL and credentials", (destination, expected) => {
  // biome-ignore format: a table
  expect(target({ destination })).toStrictEqual(expected);
});

test.each([
  [{}, "spec.destination is empty; it must have exactly one of s3, gcs, azure, volume and url"],
  [
    { url: { template: "s3://bb/{{ .Foo }}" } },
    "spec.destination.url.template has {{ .Foo }}; it may have {{ .Namespace }}",
  ],
  [
    { url: { template: "s3://bb/{ .Name }" } },
    "spec.destination.url.template has a brace that belongs to no placeholder",
  ],
  [
    { url: { template: "s3://bb/{{ .Name }" } },
    "spec.destination.url.template has a brace that belongs to no placeholder",
  ],
  [{ url: { template: "ftp://bb/k" } }, 'spec.destination.url.template: the object URL has the scheme "ftp"'],
  [{ url: { template: "volume://c/p" } }, 'the object URL has the scheme "volume"'],
  [{ url: { template: "{{ .Name }}" } }, "spec.destination.url.template: the object URL is not a URL"],
])("the invalid destination %j has an error message", (destination, sentence) => {
  expect(target({ destination })).toContain(sentence);
});

test.each([
  [{ compression: "Zstd" }, ".db.zst"],
  [{ encryption: { keySecretRef: { name: "k" } } }, ".db.enc"],
  [{ compression: "Zstd", encryption: { keySecretRef: { name: "k" } } }, ".db.zst.enc"],
])("the key's extension shows compression and encryption of %j", (spec, end) => {
  expect(target(spec)).toMatchObject({ key: `foo/my-etcd/${uid}/20260101T115900Z-nightly-01234567${end}` });
  expect(target({ ...spec, destination: { url: { template: "s3://bb/k" } } })).toMatchObject({ key: "k" });
});

test.each([
  ["https://etcd.example.com:2379/", "etcd.example.com"],
  ["http://10.0.0.1:2379", "10.0.0.1"],
  ["https://[fd00::1]:2379", "_fd00__1_"],
  ["etcd", "etcd"],
  ["http://:2379", "unknown"],
])("the key of another etcd's backup contains the host of its endpoint %s", (endpoint, host) => {
  const key = `foo/external/${host}/20260101T115900Z-nightly-01234567.db`;
  expect(target({ source: { external: { endpoints: [endpoint] } } }, { with: { cluster: undefined } })).toMatchObject({
    key,
  });
});

test("a recreated cluster's backups have other keys, and a backup keeps its key once its Job exists", () => {
  const recreated = { ...cluster().cluster, metadata: { ...cluster().cluster.metadata, uid: "another" } };
  expect(target({}, { with: { cluster: recreated } })).toMatchObject({
    key: expect.stringContaining("foo/my-etcd/another/"),
  });
  expect(target({}, { with: { cluster: undefined } })).toMatchObject({
    key: expect.stringContaining("foo/my-etcd/unknown/"),
  });
  const made = backup({ stage: "made" });
  expect(targetOf({ ...made, cluster: recreated })).toMatchObject({ key: KEY });
  const noted = backup({ stage: "new", status: { phase: "BackingUp", objectKey: "noted" } });
  expect(targetOf({ ...noted, taking: made.taking })).toMatchObject({ key: "noted" });
  expect(targetOf({ ...made, cluster: recreated, taking: toldKey("told") })).toMatchObject({ key: "told" });
  const theirs = toldKey("theirs", { ownerReferences: [] });
  expect(targetOf({ ...made, taking: theirs })).toMatchObject({ key: KEY });
  expect(targetOf({ ...made, taking: toldKey(undefined) })).toMatchObject({ key: KEY });
});

/** The Job with an agent that has this key. @param metadata overrides the Job's metadata */
function toldKey(key: string | undefined, metadata: object = {}): Attempted {
  const { job, pods } = backup({ stage: "made" }).taking!;
  const other = { name: "OTHER", value: JSON.stringify({ key: "other" }) };
  const env = key === undefined ? [other] : [other, { name: TASK_VARIABLE, value: JSON.stringify({ key }) }];
  const spec = { template: { spec: { containers: [{ name: "other" }, { name: "agent", env }] } } };
  return { pods, job: { ...job, metadata: { ...job.metadata, ...metadata }, spec } as unknown as Job };
}

test("a recorded URL stays, whatever the template gives now", () => {
  const status = { phase: "Completed", objectKey: "old/k", objectURL: "s3://aa/old/k?region=r" } as const;
  for (const template of ["s3://bb/{{ .Name }}", "s3://bb/{{ .Unknown }}", "none"]) {
    const destination = { url: { template, credentials: { secretName: "s" } } };
    expect(target({ destination }, { status })).toEqual({
      location: { store: "s3", bucket: "aa", region: "r" },
      key: "old/k",
      url: "s3://aa/old/k?region=r",
      credentials: { secretName: "s", isOptional: false },
    });
  }
  const { objectURL } = status;
  const destination = { url: { template: "s3://bb/{{ .Name }}" } };
  expect(target({ destination }, { status: { objectURL } })).toMatchObject({ key: "nightly" });
  expect(target({ destination }, { with: { taking: toldKey("told") } })).toMatchObject({ key: "told" });
  expect(target({ destination }, { status: { ...status, objectURL: "no" } })).toContain(
    "spec.destination.url.template",
  );
});
