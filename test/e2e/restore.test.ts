import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { FENCE, INITIAL_CLUSTER_ANNOTATION, RESTORED_FROM } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { S3_ACCESS, startVersitygw, type Versitygw } from "#kit/servers/versitygw.ts";
import type { Job, KubeList, PersistentVolumeClaim, Pod } from "#kube/kinds.ts";

// Restores as people use them: a cluster and all of its claims are lost, and restored from an EtcdBackup.

const KEYS = Array.from({ length: 8 }, (_, n) => `known-${n}`);
const KEY = "0123456789abcdef".repeat(4);
const BUMP = 1_000_000_000;
/** Enough for three pods of the restore and then three members, on a busy machine. */
const RESTORED_MS = 240_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
/** The revision at which the snapshot was taken. */
let revision = 0;
let oldID: string | undefined;

beforeAll(async () => {
  namespace = await testNamespace("restore");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  await new UserBackups(cluster).claim();
  for (const [name, key] of Object.entries({ "backup-key": KEY, "wrong-key": KEY.replace("0", "1") }))
    await cluster.kubectl("create", "secret", "generic", name, `--from-literal=key=${key}`);
  oldID = (await cluster.untilReady()).status?.identity?.clusterID;
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

/** Waits until the object has this phase. */
async function until<T extends EtcdBackup | EtcdRestore>(kind: string, name: string, phase: string): Promise<T> {
  return await eventually(async () => {
    const object = await cluster.json<T>("get", kind, name);
    if (object.status?.phase !== phase) throw new Error(`${name} is not ${phase}: ${JSON.stringify(object.status)}`);
    return object;
  }, RESTORED_MS);
}

async function claims(selector: string): Promise<readonly PersistentVolumeClaim[]> {
  return (await cluster.json<KubeList<PersistentVolumeClaim>>("get", "pvc", "-l", selector)).items;
}

function revisionIn(json: string): number {
  return (JSON.parse(json) as { header: { revision: number } }).header.revision;
}

async function deleteAll(): Promise<void> {
  await cluster.kubectl("delete", "etcdcluster", "my-etcd", "--cascade=foreground", "--timeout=120s");
  await cluster.kubectl("delete", "pvc", "-l", "etcd.improbable.io/cluster-name=my-etcd", "--timeout=120s");
}

const clusterTemplate = { clusterName: "my-etcd", spec: { replicas: 3, version: DEFAULT_VERSION, tls: NO_TLS } };

test("a cluster is backed up to a volume with encryption and compression, and deleted with all its claims", async () => {
  for (const key of KEYS) await cluster.put("my-etcd-0", key, `value of ${key}`);
  const lease = /lease (\w+) granted/.exec(await cluster.etcdctl("my-etcd-0", "lease", "grant", "3600"))?.[1] ?? "";
  await cluster.etcdctl("my-etcd-0", "put", "leased", "value", `--lease=${lease}`);
  revision = revisionIn(await cluster.etcdctl("my-etcd-0", "get", "leased", "-w", "json"));
  const encryption = { keySecretRef: { name: "backup-key" } };
  const destination = { volume: { claimName: "backups" } };
  await cluster.make("EtcdBackup", "nightly", {
    source: { cluster: { name: "my-etcd" } },
    destination,
    encryption,
    compression: "Zstd",
  });
  await until<EtcdBackup>("etcdbackup", "nightly", "Completed");
  await cluster.put("my-etcd-0", "after", "the snapshot");
  await deleteAll();
});

test("a restore with a wrong key fails and leaves no claim", async () => {
  const { objectKey = "" } = (await cluster.json<EtcdBackup>("get", "etcdbackup", "nightly")).status ?? {};
  const encryption = { keySecretRef: { name: "wrong-key" } };
  const source = { object: { volume: { claimName: "backups", key: objectKey }, encryption } };
  await cluster.make("EtcdRestore", "mistaken", { source, clusterTemplate });
  const { status } = await until<EtcdRestore>("etcdrestore", "mistaken", "Failed");
  expect(status?.conditions?.find(({ type }) => type === "Failed")).toMatchObject({
    status: "True",
    reason: "BadKey",
    message: expect.stringContaining("(Secret wrong-key)"),
  });
  // The failed pod stays for a while, with its log; until it is gone, Kubernetes keeps the claims that it mounts.
  const jobs = await cluster.json<KubeList<Job>>("get", "jobs", "-l", "etcd.improbable.io/restore-name=mistaken");
  expect(jobs.items.map(({ metadata }) => status?.jobNames?.includes(metadata.name))).toContain(true);
  await eventually(async () => {
    const left = await claims("etcd.improbable.io/cluster-name=my-etcd");
    expect(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([]);
    const { metadata } = await cluster.json<EtcdRestore>("get", "etcdrestore", "mistaken");
    expect(metadata.finalizers).toBeUndefined();
  });
  await cluster.kubectl("delete", "etcdrestore", "mistaken", "--timeout=30s");
  await eventually(async () => expect(await claims("etcd.improbable.io/cluster-name=my-etcd")).toEqual([]));
});

describe("a restored cluster", () => {
  beforeAll(async () => {
    await cluster.make("EtcdRestore", "back", { source: { backupName: "nightly" }, clusterTemplate });
    await until<EtcdRestore>("etcdrestore", "back", "Completed");
  });

  test("has every key acknowledged before the snapshot, with its lease, and no later key", async () => {
    for (const key of KEYS) expect(await cluster.read("my-etcd-1", key)).toBe(`value of ${key}`);
    expect(await cluster.read("my-etcd-1", "after")).toBe("");
    // A lease ID has 64 bits, which JavaScript's JSON would round.
    const [, lease = "0"] =
      /"lease":(\d+)/.exec(await cluster.etcdctl("my-etcd-2", "get", "leased", "-w", "json")) ?? [];
    const id = BigInt(lease).toString(16);
    expect(await cluster.etcdctl("my-etcd-2", "lease", "timetolive", id, "--keys")).toContain("[leased]");
  });

  test("is Ready, and has a new etcd cluster ID", async () => {
    const { status, metadata } = await cluster.json<EtcdRestore>("get", "etcdrestore", "back");
    expect(status?.conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)).toEqual([
      "Complete True Completed",
      "Failed False Completed",
      "Ready True Completed",
    ]);
    const restored = await cluster.untilReady();
    expect(restored.metadata.annotations?.[RESTORED_FROM]).toBe(metadata.uid);
    expect(restored.metadata.ownerReferences).toBeUndefined();
    expect(restored.status?.identity?.clusterID).toBe(status?.clusterID);
    expect(restored.status?.identity?.clusterID).not.toBe(oldID);
    expect(restored.status?.identity?.initialMembers.map(({ joined }) => joined)).toEqual([true, true, true]);
  });

  test("starts with a much higher revision, so that watches from an earlier revision report a compaction", async () => {
    const { status } = await cluster.json<EtcdRestore>("get", "etcdrestore", "back");
    expect(Number(status?.revision)).toBeGreaterThanOrEqual(revision + BUMP);
    const now = revisionIn(await cluster.etcdctl("my-etcd-0", "get", "leased", "-w", "json"));
    expect(now).toBeGreaterThanOrEqual(Number(status?.revision));
    const told = await cluster.etcdctl("my-etcd-0", "watch", "known-0", `--rev=${revision + 1}`).catch(String);
    expect(told).toContain("required revision has been compacted");
  });

  test("has only fenced members, which cannot bootstrap", async () => {
    const peers = (await cluster.json<KubeList<EtcdPeer>>("get", "etcdpeers")).items;
    expect(peers.map(({ spec }) => spec.bootstrap)).toEqual([undefined, undefined, undefined]);
    const pods = await cluster.json<KubeList<Pod>>("get", "pods", "-l", "app.kubernetes.io/component=member");
    const lists = pods.items.map(({ metadata }) => metadata.annotations?.[INITIAL_CLUSTER_ANNOTATION]);
    expect(lists).toEqual([FENCE, FENCE, FENCE]);
  });

  test("is not changed when the same EtcdRestore is created again, which fails with ClusterExists", async () => {
    await cluster.put("my-etcd-0", "later", "than the restore");
    const before = await claims("etcd.improbable.io/cluster-name=my-etcd");
    await cluster.kubectl("delete", "etcdrestore", "back", "--timeout=30s");
    await cluster.make("EtcdRestore", "back", { source: { backupName: "nightly" }, clusterTemplate });
    const { status } = await until<EtcdRestore>("etcdrestore", "back", "Failed");
    expect(status?.conditions?.find(({ type }) => type === "Failed")).toMatchObject({ reason: "ClusterExists" });
    expect(await cluster.read("my-etcd-0", "later")).toBe("than the restore");
    const after = await claims("etcd.improbable.io/cluster-name=my-etcd");
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  });
});

test("a cluster restores an EtcdBackup through its own spec.bootstrap", async () => {
  const second = new UserCluster(namespace.name, "second");
  await second.create({ replicas: 1, bootstrap: { fromBackup: { source: { backupName: "nightly" } } } });
  await second.untilReady(RESTORED_MS);
  expect(await second.read("second-0", "known-3")).toBe("value of known-3");
  const { status, metadata } = await until<EtcdRestore>("etcdrestore", "second", "Completed");
  expect(metadata.ownerReferences).toMatchObject([{ kind: "EtcdCluster", name: "second" }]);
  expect((await second.get()).status?.identity?.clusterID).toBe(status?.clusterID);
});

describe("the v1alpha1 manifests", () => {
  let store: Versitygw;

  beforeAll(async () => {
    store = await startVersitygw({ host: "0.0.0.0" });
    store.bucket("backups");
    const { id, secret } = S3_ACCESS;
    await cluster.kubectl(
      ...["create", "secret", "generic", "etcd-backup-credentials"],
      ...[`--from-literal=AWS_ACCESS_KEY_ID=${id}`, `--from-literal=AWS_SECRET_ACCESS_KEY=${secret}`],
    );
  });
  afterAll(async () => await store?.stop());

  test("back up a cluster to S3 and restore three members from the snapshot", async () => {
    await cluster.put("my-etcd-0", "foo", "bar");
    const query = `endpoint=10.88.1.1:${store.port}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1`;
    const objectURL = `s3://backups/snapshot.db?${query}`;
    const backup = { source: { clusterURL: "http://my-etcd:2379" }, destination: { objectURLTemplate: objectURL } };
    await cluster.makeV1alpha1("EtcdBackup", "slide", backup);
    await until<EtcdBackup>("etcdbackup", "slide", "Completed");
    const spec = { replicas: 3, storage: { volumeClaimTemplate: { resources: { requests: { storage: "1Gi" } } } } };
    const template = { clusterName: "restored-cluster", spec };
    await cluster.makeV1alpha1("EtcdRestore", "slide", { source: { objectURL }, clusterTemplate: template });
    await until<EtcdRestore>("etcdrestore", "slide", "Completed");
    const restored = new UserCluster(namespace.name, "restored-cluster");
    expect(await restored.read("restored-cluster-2", "foo")).toBe("bar");
    const alpha = await cluster.json<EtcdRestore>("get", "etcdrestores.v1alpha1.etcd.improbable.io", "slide");
    expect(alpha).toMatchObject({ spec: { source: { objectURL } }, status: { phase: "Completed" } });
    // Restored members run where the scheduler would place them: spread over the nodes.
    const pods = await restored.json<KubeList<Pod>>(
      "get",
      "pods",
      "-l",
      "etcd.improbable.io/cluster-name=restored-cluster",
    );
    expect(new Set(pods.items.map(({ spec: of }) => of?.nodeName)).size).toBe(3);
  });
});
