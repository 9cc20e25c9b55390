import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { OPERATOR, RESTORED_FROM } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { POD_TEMPLATE } from "#kit/snapshots/etcd-backup.ts";
import { goodObject, ON_VOLUME, restore } from "#kit/snapshots/etcd-restore.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type Draft,
  JOBS,
  type Job,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Resource,
} from "#kube/kinds.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { restoreJob } from "#restore/desired/job.ts";
import { restoredClaim } from "#restore/desired/member.ts";

// The API server accepts, completes or refuses the spec of a restore before the operator sees it.
// It also decides what the operator's account may do for a restore, with the shipped manifests.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
const IMAGE = "operator:test";
const ALPHA: Resource<EtcdRestore> = { ...ETCD_RESTORES, version: "v1alpha1" };

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  const flags = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"];
  // No operator serves webhooks here.
  const isInstalled = ({ kind }: { kind: string }) => kind !== "ValidatingWebhookConfiguration";
  ({ server, admin, operator } = await startShipped({ namespace, kinds: [ETCD_RESTORES], flags, isInstalled }));
  await vi.waitFor(() => expect(job({ metadata: { ownerReferences: null } })).rejects.toThrow(OPERATOR), {
    timeout: 30_000,
  });
});
afterAll(async () => await server?.stop());

let count = 0;

async function made(spec: unknown, of = ETCD_RESTORES, name = `r-${count++}`): Promise<EtcdRestore> {
  const apiVersion = `${of.group}/${of.version}`;
  const draft = { apiVersion, kind: of.kind, metadata: { namespace, name }, spec } as unknown as Draft<EtcdRestore>;
  return await admin.create(of, draft, OPTIONS);
}

const SOURCE = { backupName: "nightly" };
const TEMPLATE = { clusterName: "restored", spec: { replicas: 3, version: "3.6.16" } };

const ACCOUNT = { podTemplate: { spec: { serviceAccountName: "cloud" } } };
const { nodeSelector: _, tolerations: __, ...FIELDS } = POD_TEMPLATE.spec;
const ALL_OF_POD = { podTemplate: { metadata: POD_TEMPLATE.metadata, spec: FIELDS } };

function from(source: object): object {
  return { source, clusterTemplate: TEMPLATE };
}

function object(of: object): object {
  return from({ object: of });
}

function into(template: object, more: object = {}): object {
  return { source: SOURCE, clusterTemplate: { ...TEMPLATE, ...template }, ...more };
}

test("a restore with only a source and a cluster gets every default, also those of the cluster", async () => {
  const { spec } = await made({ source: SOURCE, clusterTemplate: TEMPLATE });
  expect(spec).toMatchObject({
    source: SOURCE,
    clusterTemplate: { clusterName: "restored", spec: { replicas: 3, version: "3.6.16", storage: { size: "8Gi" } } },
  });
  expect(spec).not.toHaveProperty("podTemplate");
});

describe("is accepted:", () => {
  test.each([
    ["S3", object({ s3: { bucket: "backups", key: "a b/c+d.db", endpoint: "http://10.0.0.1:9000", region: "eu-1", pathStyle: true } })],
    ["Google Cloud Storage", object({ gcs: { bucket: "backups", key: "k", credentials: { secretName: "gcs" } } })],
    ["Azure Blob Storage", object({ azure: { account: "mine", container: "con", key: "k" } })],
    ["an encrypted backup on a volume", object({ volume: { claimName: "c", key: "a/b.db" }, encryption: { keySecretRef: { name: "key" } } })],
    ["another key than that of the EtcdBackup", from({ ...SOURCE, encryption: { keySecretRef: { name: "old" } } })],
    ["a URL", object({ url: { url: "s3://b/k.db?region=eu-1", credentials: { secretName: "s3" } } })],
    ["a service account", into({}, ACCOUNT)],
    ["every field of a pod template", into({}, ALL_OF_POD)],
    ["until a revision", into({}, { until: { revision: "12" } })],
    ["until a time", into({}, { until: { time: "2026-01-31T12:00:00.5+01:00" } })],
    ["a service account and a pull policy", into({ spec: { replicas: 1, version: "3.6.16", image: { pullPolicy: "Always" } } }, ACCOUNT)],
  ])("%s", async (_, spec) => expect((await made(spec)).metadata.uid).toBeTruthy()); // biome-ignore format: a table
});

describe("is refused with the field, the value and what is allowed:", () => {
  test.each<[string, unknown, string]>([
    ["no source", { clusterTemplate: TEMPLATE }, "spec.source: Required value"],
    ["an empty source", from({}), "it must have exactly one of backupName and object"],
    ["two sources", from({ ...SOURCE, object: { url: { url: "gs://b/k" } } }), "it must have exactly one of backupName and object"],
    ["a key beside an object", from({ object: { url: { url: "gs://b/k" } }, encryption: { keySecretRef: { name: "old" } } }), "the key of an object is in object.encryption"],
    ["an object without a place", object({}), "object must have exactly one of s3, gcs, azure, volume and url"],
    ["an object in two places", object({ url: { url: "gs://b/k" }, gcs: { bucket: "bb", key: "k" } }), "object must have exactly one of s3, gcs, azure, volume and url"],
    ["no key", object({ gcs: { bucket: "bb" } }), "spec.source.object.gcs.key: Required value"],
    ["a key that leaves the volume", object({ volume: { claimName: "c", key: "a/../b" } }), "key is a/../b; it must be names with / between them"],
    ["a key that begins with /", object({ s3: { bucket: "bb", key: "/a" } }), "key is /a; it must be names"],
    ["a key that is a dot", object({ s3: { bucket: "bb", key: "." } }), "key is .; it must be names"],
    ["an invalid bucket", object({ s3: { bucket: "a/b", key: "k" } }), "bucket is a/b; it must be 2 to 222 letters"],
    ["no cluster name", { source: SOURCE, clusterTemplate: { spec: { replicas: 1, version: "3.6.16" } } }, "spec.clusterTemplate.clusterName: Required value"],
    ["an invalid cluster name", into({ clusterName: "1st" }), "clusterName is 1st; it must be a-z, 0-9 and -, begin with a letter"],
    ["a cluster name that ends with a dash", into({ clusterName: "a-" }), "clusterName is a-; it must be"],
    ["a cluster name that is too long", into({ clusterName: "a".repeat(53) }), "may not be more than 52"],
    ["too many members", into({ spec: { replicas: 8, version: "3.6.16" } }), "spec.clusterTemplate.spec.replicas"],
    ["a cluster without members", into({ spec: { replicas: 0, version: "3.6.16" } }), "clusterTemplate.spec.replicas is 0; it must be 1 to 7"],
    ["an empty until", into({}, { until: {} }), "until must have exactly one of revision and time"],
    ["two points in time", into({}, { until: { revision: "1", time: "2026-01-31T12:00:00Z" } }), "until must have exactly one of revision and time"],
    ["an invalid revision", into({}, { until: { revision: "0" } }), "spec.until.revision"],
    ["an invalid time", into({}, { until: { time: "yesterday" } }), "spec.until.time"],
    ["an unknown etcd release", into({ spec: { replicas: 1, version: "2.0.0" } }), "version is 2.0.0; it must be an etcd release"],
    ["a service account with a custom image", into({ spec: { replicas: 1, version: "3.6.16", image: { repository: "example.test/etcd" } } }, ACCOUNT), "An image of your own would run with the identity of podTemplate.spec.serviceAccountName"],
    ["a service account with an image by its digest", into({ spec: { replicas: 1, version: "3.6.16", image: { digest: `sha256:${"0".repeat(64)}` } } }, ACCOUNT), "Remove image.repository and image.digest"],
  ])("%s", async (_, spec, says) => expect(await made(spec).then(() => "it was accepted", String)).toContain(says)); // biome-ignore format: a table

  test("a name that is too long for a label", async () => {
    await expect(made(from(SOURCE), ETCD_RESTORES, "a".repeat(64))).rejects.toThrow("metadata.name is too long");
    expect((await made(from(SOURCE), ETCD_RESTORES, "a".repeat(63))).metadata.uid).toBeTruthy();
  });

  test("v1alpha1 without a URL", async () => {
    await expect(made({ source: {}, clusterTemplate: TEMPLATE }, ALPHA)).rejects.toThrow(
      "spec.source.objectURL: Required value",
    );
  });
});

test("the example is accepted", async () => {
  const { spec } = parse(readFileSync("examples/restore.yaml", "utf8")) as { spec: object };
  expect((await made(spec)).spec).toMatchObject(spec);
});

test("after creation the spec cannot be changed, and metadata can", async () => {
  const { metadata } = await made(from(SOURCE));
  const edit = (change: object) => admin.patch(ETCD_RESTORES, metadata, change, { ...OPTIONS, type: "merge" });
  for (const spec of [
    { source: { backupName: "other" } },
    { clusterTemplate: { spec: { podTemplate: { spec: { a: 1 } } } } },
  ])
    await expect(edit({ spec })).rejects.toThrow("spec cannot be changed after creation; make another EtcdRestore");
  expect((await edit({ metadata: { annotations: { a: "1" } } })).metadata.annotations).toEqual({ a: "1" });
});

describe("an EtcdCluster that starts from a backup", () => {
  async function begun(spec: object, name = `c-${count++}`): Promise<EtcdCluster> {
    const draft = {
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdCluster",
      metadata: { namespace, name },
      spec,
    };
    return await admin.create(ETCD_CLUSTERS, draft as unknown as Draft<EtcdCluster>, OPTIONS);
  }
  const bootstrap = { fromBackup: { source: SOURCE } };
  const edit = (of: EtcdCluster, change: object) =>
    admin.patch(ETCD_CLUSTERS, of.metadata, change, { ...OPTIONS, type: "merge" });

  test("can have spec.bootstrap only from its creation on, and only remove it later", async () => {
    const cluster = await begun({ replicas: 3, version: "3.6.16", bootstrap });
    await expect(
      edit(cluster, { spec: { bootstrap: { fromBackup: { source: { backupName: "other" } } } } }),
    ).rejects.toThrow("bootstrap cannot be changed after creation. Remove it, or create another EtcdCluster");
    expect((await edit(cluster, { spec: { replicas: 5 } })).spec.bootstrap).toEqual(bootstrap);
    expect((await edit(cluster, { spec: { bootstrap: null } })).spec).not.toHaveProperty("bootstrap");
    await expect(edit(cluster, { spec: { bootstrap } })).rejects.toThrow(
      "bootstrap cannot be given to a cluster that exists",
    );
  });

  test("has one source, at most one point in time, and no service account together with a custom image", async () => {
    await expect(begun({ replicas: 3, version: "3.6.16", bootstrap: { fromBackup: {} } })).rejects.toThrow(
      "spec.bootstrap.fromBackup.source: Required value",
    );
    await expect(begun({ replicas: 3, version: "3.6.16", bootstrap: { fromBackup: { source: {} } } })).rejects.toThrow(
      "it must have exactly one of backupName and object",
    );
    await expect(begun({ replicas: 3, version: "3.6.16", bootstrap: {} })).rejects.toThrow(
      "bootstrap must have fromBackup",
    );
    const until = (point: object) =>
      begun({ replicas: 3, version: "3.6.16", bootstrap: { fromBackup: { source: SOURCE, until: point } } });
    await expect(until({})).rejects.toThrow("until must have exactly one of revision and time");
    await expect(until({ revision: "0" })).rejects.toThrow("spec.bootstrap.fromBackup.until.revision");
    await expect(until({ time: "yesterday" })).rejects.toThrow("spec.bootstrap.fromBackup.until.time");
    const cluster = await until({ revision: "12" });
    const other = { fromBackup: { source: SOURCE, until: { revision: "13" } } };
    await expect(edit(cluster, { spec: { bootstrap: other } })).rejects.toThrow("bootstrap cannot be changed");
    const fromBackup = { source: SOURCE, ...ACCOUNT };
    await expect(
      begun({ replicas: 3, version: "3.6.16", bootstrap: { fromBackup }, image: { repository: "example.test/etcd" } }),
    ).rejects.toThrow(
      "An image of your own would run with the identity of bootstrap.fromBackup.podTemplate.spec.serviceAccountName",
    );
    expect((await begun({ replicas: 3, version: "3.6.16", bootstrap: { fromBackup } })).metadata.uid).toBeTruthy();
  });
});

function draft(spec: object = {}): Draft<Job> {
  const snapshot = { ...restore({ stage: "claims", spec }), imageRepository: "gcr.io/etcd-development/etcd" };
  return restoreJob(snapshot, snapshot.members[0]!, goodObject(snapshot), IMAGE);
}

/** A merge patch, as far as these tests need it. `{ 0: … }` changes an item of a list. */
function merged(to: unknown, change: unknown): unknown {
  if (typeof change !== "object" || change === null || Array.isArray(change)) return change;
  if (Array.isArray(to)) return to.map((each, n) => (n in change ? merged(each, (change as unknown[])[n]) : each));
  const result: Record<string, unknown> = { ...(to as object) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

async function job(change: object = {}, of = draft()): Promise<Job> {
  const whole = merged({ ...of, metadata: { ...of.metadata, name: `restore-${count++}` } }, change) as Draft<Job>;
  return await operator.create(JOBS, whole, OPTIONS);
}

function pod(spec: object): object {
  return { spec: { template: { spec } } };
}

/** A change of the pod that removes the failure policy, because that names containers. */
function bare(spec: object): object {
  return { spec: { podFailurePolicy: null, template: { spec } } };
}

describe("the operator may create", () => {
  const image = { repository: "example.test/etcd" };
  test.each([
    ["the Job of a restore", draft()],
    ["the Job of an encrypted restore from a volume", draft(ON_VOLUME)],
    ["the Job of a restore with a custom image", draft(into({ spec: { replicas: 3, version: "3.6.16", image } }))],
    ["the Job of a restore with every field of a pod template", draft(ALL_OF_POD)],
    ["the Job of a restore to a point in time", draft({ until: { revision: "12" } })],
  ])("%s, and may delete it", async (_, of) => {
    const { metadata } = await job({}, of);
    await operator.delete(JOBS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
  });

  test("claims, and may annotate them with the identity of their data and delete them", async () => {
    const claim = restoredClaim(restore({ stage: "new" }), "restored-0");
    const { metadata } = await operator.create(PERSISTENT_VOLUME_CLAIMS, claim, OPTIONS);
    const patch = { metadata: { annotations: { "etcd.improbable.io/cluster-id": "abc" } } };
    const told = await operator.patch(PERSISTENT_VOLUME_CLAIMS, metadata, patch, { ...OPTIONS, type: "merge" });
    const { uid, resourceVersion } = (told as PersistentVolumeClaim).metadata;
    await operator.delete(PERSISTENT_VOLUME_CLAIMS, metadata, { ...OPTIONS, preconditions: { uid, resourceVersion } });
  });

  test("the EtcdCluster of a restore, and no other EtcdCluster", async () => {
    const cluster = restoredCluster(restore());
    expect((await operator.create(ETCD_CLUSTERS, cluster, OPTIONS)).metadata.annotations).toHaveProperty([
      RESTORED_FROM,
    ]);
    const { annotations: _, ...metadata } = cluster.metadata;
    const another = { ...cluster, metadata: { ...metadata, name: "another" } };
    await expect(operator.create(ETCD_CLUSTERS, another, OPTIONS)).rejects.toThrow(
      "makes EtcdClusters only of restores",
    );
  });

  test("an EtcdRestore of an EtcdCluster, and no other EtcdRestore", async () => {
    const { apiVersion, kind, spec } = restore().restore;
    const labels = { "app.kubernetes.io/managed-by": OPERATOR };
    const owner = { apiVersion, kind: "EtcdCluster", name: "c", uid: "u", controller: true };
    const own: Draft<EtcdRestore> = {
      apiVersion,
      kind,
      metadata: { namespace, name: "own", labels, ownerReferences: [owner] },
      spec,
    };
    expect((await operator.create(ETCD_RESTORES, own, OPTIONS)).metadata.uid).toBeTruthy();
    const nobodys = { ...own, metadata: { namespace, name: "nobodys", labels } };
    await expect(operator.create(ETCD_RESTORES, nobodys, OPTIONS)).rejects.toThrow(
      "makes EtcdRestores only for EtcdClusters",
    );
  });
});

describe("the operator may not create a Job", () => {
  const TOOL = "run etcdutl only to restore a snapshot";
  const AGENT = "run the agent of operator:test, and nothing else";
  test.each<[string, object, string]>([
    ["with an etcdutl that runs a different command", pod({ initContainers: { 1: { command: ["etcdutl", "snapshot", "status", "x"] } } }), TOOL],
    ["with a different program as etcdutl", pod({ initContainers: { 1: { command: ["/bin/sh", "snapshot", "restore", "x"] } } }), TOOL],
    ["with a Secret mounted into etcdutl", pod({ initContainers: { 1: { volumeMounts: [{ name: "credentials", mountPath: "/x" }] } } }), TOOL],
    ["with a task for etcdutl", pod({ initContainers: { 1: { env: [{ name: "AGENT_TASK", value: "{}" }] } } }), TOOL],
    ["with arguments for etcdutl", pod({ initContainers: { 1: { args: ["x"] } } }), AGENT],
    ["with a custom image under a service account", pod({ serviceAccountName: "cloud", initContainers: { 1: { image: "example.test/etcd:v3.6.16" } } }), "With a service account other than default, etcd's image is from gcr.io/etcd-development/etcd"],
    ["that fetches the snapshot with a different image", pod({ initContainers: { 0: { image: "example.test/agent" } } }), AGENT],
    ["that ends with a different image", pod({ containers: { 0: { image: "example.test/agent" } } }), AGENT],
    ["that ends with etcdutl", bare({ initContainers: null, containers: { 0: { name: "etcdutl" } } }), TOOL],
    ["with an init container that keeps running", pod({ initContainers: { 1: { restartPolicy: "Always" } } }), AGENT],
    ["with a different first container", bare({ initContainers: { 0: { name: "other" } } }), AGENT],
    ["with a Secret in the environment", pod({ initContainers: { 0: { envFrom: [{ secretRef: { name: "s" } }] } } }), "the environment of pods"],
    ["that gains privileges", pod({ initContainers: { 1: { securityContext: { allowPrivilegeEscalation: true } } } }), "do not gain privileges"],
    ["that takes a port of the node", pod({ initContainers: { 1: { ports: [{ containerPort: 1, hostPort: 1 }] } } }), "nothing of their node"],
    ["without the label", { metadata: { labels: { "etcd.improbable.io/restore-name": null } } }, "makes and deletes only Jobs of backups and restores"],
    ["of a different owner", { metadata: { ownerReferences: { 0: { kind: "EtcdCluster" } } } }, "a Job of the operator belongs to an EtcdBackup or EtcdRestore"],
  ])("%s", async (_, change, says) => await expect(job(change)).rejects.toThrow(says)); // biome-ignore format: a table

  test.each<[string, object, string]>([
    ["with a different program as the throw-away etcd", pod({ initContainers: { 2: { command: ["/bin/sh", "-c", "x", "y"] } } }), TOOL],
    ["with a Secret mounted into the throw-away etcd", pod({ initContainers: { 2: { volumeMounts: [{ name: "credentials", mountPath: "/x" }] } } }), TOOL],
    ["with etcd as the first etcdutl", pod({ initContainers: { 1: { command: ["etcd", "snapshot", "restore", "x"] } } }), TOOL],
    ["with a throw-away etcd that ends", pod({ initContainers: { 2: { restartPolicy: null } } }), AGENT],
    ["with an agent that keeps running", pod({ initContainers: { 3: { restartPolicy: "Always" } } }), AGENT],
    ["that replays with a different image", pod({ initContainers: { 3: { image: "example.test/agent" } } }), AGENT],
  ])("to a point in time, %s", async (_, change, says) => {
    await expect(job(change, draft({ until: { revision: "12" } }))).rejects.toThrow(says);
  }); // biome-ignore format: a table
});
