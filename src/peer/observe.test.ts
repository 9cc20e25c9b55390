import { expect, test } from "vitest";
import { CLIENT_SCHEME_ANNOTATION, PAUSED_ANNOTATION } from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { OperatorError } from "#base/error.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { Keyring } from "#certificates/keyring.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { cluster, NOW, pod } from "#kit/snapshots/cluster.ts";
import { asleep, SLEEP } from "#kit/snapshots/cluster-sleep.ts";
import { overTls } from "#kit/snapshots/etcd-backup.ts";
import { peer } from "#kit/snapshots/peer.ts";
import type { PersistentVolumeClaim, Pod, ReplicaSet } from "#kube/kinds.ts";
import { observePeer, type PeerReads } from "#peer/observe.ts";
import { StorageClasses } from "#peer/storage-classes.ts";
import { Silences } from "#runtime/silences.ts";

const starting = peer({ stage: "starting" });
const pending = { ...starting.claim, status: { phase: "Pending" } } as PersistentVolumeClaim;

function unscheduled(message: string): Pod {
  const conditions = [{ type: "PodScheduled", status: "False", message }];
  return { ...pod("my-etcd-0", { ready: false }), status: { phase: "Pending", conditions } } as Pod;
}
const volumeless = unscheduled("pod has unbound immediate PersistentVolumeClaims");

interface Given {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly wallMs?: number;
  readonly cluster?: EtcdCluster;
  readonly replicaSet?: ReplicaSet;
  readonly peer?: EtcdPeer;
}

/** The member with these objects; `list` reads the storage classes. */
async function look(given: Given, list: () => Promise<unknown>) {
  const view = (object: unknown) => ({ get: () => object, byIndex: () => (object === undefined ? [] : [object]) });
  let asked = 0;
  const reads = {
    clusters: view(given.cluster),
    peers: view(given.peer ?? starting.peer),
    claims: view(given.claim),
    replicaSets: view(given.replicaSet ?? starting.replicaSet),
    pods: view(given.pod),
    kube: {
      list: () => {
        asked += 1;
        return list();
      },
    },
    clock: { wallMs: () => given.wallMs ?? NOW },
  } as unknown as PeerReads;
  const seen = await observePeer(
    { ...reads, storageClasses: new StorageClasses(reads.kube) },
    new Silences(reads.clock, "etcd"),
    { namespace: "foo", name: "my-etcd-0" },
    new AbortController().signal,
  );
  if (seen.is !== "present") throw new Error("the member is there");
  const { storageClasses: classes, pausedBy, isAsleep, shownSecrets } = seen.value;
  return { asked, classes, pausedBy, isAsleep, shownSecrets };
}

/** A ready member with TLS; `find` reads the operator's Secret. */
async function lookOverTls(find: () => Promise<unknown>) {
  const member = pod("my-etcd-0", { ready: true });
  const annotations = { ...member.metadata.annotations, [CLIENT_SCHEME_ANNOTATION]: "https" };
  const view = (object: unknown) => ({ get: () => object, byIndex: () => [object] });
  const asked: Endpoint[] = [];
  const settled = peer();
  const probe = (endpoint: Endpoint) => {
    asked.push(endpoint);
    return Promise.resolve(unknown("it is silent"));
  };
  const reads = {
    clusters: view(overTls()),
    peers: view(settled.peer),
    claims: view(settled.claim),
    replicaSets: view(settled.replicaSet),
    pods: view({ ...member, metadata: { ...member.metadata, annotations } }),
    kube: { find },
    etcd: { probe },
    identities: new Keyring(),
    clock: { wallMs: () => NOW, monotonicMs: () => 0 },
  } as unknown as PeerReads;
  const key = { namespace: "foo", name: "my-etcd-0" };
  const shared = { ...reads, storageClasses: new StorageClasses(reads.kube) };
  const seen = await observePeer(shared, new Silences(reads.clock, "etcd"), key, new AbortController().signal);
  return { asked, endpoint: seen.is === "present" ? seen.value.endpoint : undefined };
}

test("a member with TLS is called with the operator's client certificate, and its Secret is read", async () => {
  const issuer = await authority();
  const secret = secretOf("my-etcd-operator-tls", dataOf(await leaf(issuer), issuer.certificate));
  const { asked, endpoint } = await lookOverTls(() => Promise.resolve(present(secret)));
  expect(asked).toMatchObject([{ address: "10.0.0.1:2379", tls: { secretName: "my-etcd-operator-tls" } }]);
  expect(endpoint).toEqual(unknown("it is silent"));
});

test("a member with TLS is not called without a client certificate, and the reason is reported", async () => {
  const { asked, endpoint } = await lookOverTls(() => Promise.resolve(absent));
  expect(asked).toEqual([]);
  expect(endpoint).toMatchObject({ is: "unknown", why: expect.stringContaining("requires TLS") });
});

const local = () => Promise.resolve({ items: [{ metadata: { name: "local" } }], resourceVersion: "1" });

test("storage classes are read when a pod has waited for its volume for ten seconds", async () => {
  const { classes } = await look({ pod: volumeless, claim: pending }, local);
  expect(classes).toEqual({ is: "present", value: [{ metadata: { name: "local" } }] });
});

const createdAtMs = Date.parse(volumeless.metadata.creationTimestamp ?? "");
const spared = [
  { name: "a pod younger than ten seconds", given: { pod: volumeless, claim: pending, wallMs: createdAtMs + 9_000 } },
  { name: "a pod that has a node", given: { pod: starting.pod!, claim: pending } },
  { name: "a pod that fits on no node", given: { pod: unscheduled("0/3 nodes match"), claim: pending } },
  { name: "a claim that is bound", given: { pod: volumeless, claim: starting.claim! } },
];
for (const { name, given } of spared) {
  test(`storage classes are not read for ${name}`, async () => {
    expect(await look(given, local)).toMatchObject({ asked: 0, classes: undefined });
  });
}

test("a member is observed even when the storage classes could not be read", async () => {
  const refused = () => Promise.reject(new OperatorError("KubeForbidden", "list storageclasses: forbidden"));
  const { classes } = await look({ pod: volumeless, claim: pending }, refused);
  expect(classes).toEqual({ is: "unknown", why: "list storageclasses: forbidden" });
});

const annotations = { [PAUSED_ANNOTATION]: "true" };
const pauses = [
  { name: "not paused without an EtcdCluster", is: undefined },
  { name: "not paused by an EtcdCluster that is not paused", of: cluster(), is: undefined },
  { name: "paused by spec.paused", of: cluster({ spec: { paused: true } }), is: "spec.paused is true" },
  {
    name: "paused by the annotation",
    of: cluster({ annotations }),
    is: 'the annotation etcd.improbable.io/paused is "true"',
  },
  {
    name: "not paused by a paused EtcdCluster that is being deleted",
    of: cluster({ spec: { paused: true }, annotations, deleting: true }),
    is: undefined,
  },
];
for (const { name, of, is } of pauses) {
  test(`a member is ${name}`, async () => {
    const given = { pod: starting.pod!, claim: pending, ...(of === undefined ? {} : { cluster: of.cluster }) };
    expect((await look(given, local)).pausedBy).toBe(is);
  });
}

const owner = { ...asleep().cluster, metadata: { ...asleep().cluster.metadata, uid: "uid-of-owner" } };
const ownerReferences = [
  { apiVersion: "v1", kind: "EtcdCluster", name: "my-etcd", uid: "uid-of-owner", controller: true },
];
const owned = { ...starting.peer, metadata: { ...starting.peer.metadata, ownerReferences } };
const stopped = { ...starting.replicaSet!, spec: { ...starting.replicaSet!.spec!, replicas: 0 } };
const { bootstrap: _, ...fencedSpec } = owned.spec;
const fenced = { ...owned, spec: fencedSpec };
const bootstrap = { ...owned.spec.bootstrap!, initialClusterState: "Existing" as const };
const joining = { ...owned, spec: { ...owned.spec, bootstrap } };
const wakes = { ...owner, spec: { ...owner.spec, replicas: 3 } };
const sleeps = [
  { name: "sleeps when its EtcdCluster sleeps", of: owner, is: true },
  { name: "sleeps when its EtcdCluster sleeps and is being deleted", of: going(owner), is: true },
  {
    name: "runs when its EtcdCluster wakes up and the member has joined",
    of: wakes,
    as: fenced,
    set: stopped,
    is: false,
  },
  {
    name: "sleeps when its EtcdCluster wakes up and the stopped member may bootstrap",
    of: wakes,
    set: stopped,
    is: true,
  },
  { name: "runs when its EtcdCluster wakes up and the running member may bootstrap", of: wakes, is: false },
  {
    name: "runs when its EtcdCluster wakes up and the member joins an existing cluster",
    of: wakes,
    as: joining,
    set: stopped,
    is: false,
  },
  {
    name: "runs when its EtcdCluster is awake and the member may bootstrap",
    of: withoutSleep(wakes),
    set: stopped,
    is: false,
  },
  {
    name: "runs when its EtcdCluster shall sleep and its status does not record it yet",
    of: withoutSleep(owner),
    is: false,
  },
  { name: "runs when its EtcdCluster was woken and shall sleep again", of: wokenAgain(owner), is: false },
  { name: "runs when its EtcdCluster is deleted and the member runs", is: false },
  { name: "sleeps when its EtcdCluster is deleted and the member is stopped", set: stopped, is: true },
  { name: "runs when a recreated EtcdCluster sleeps and the member runs", of: asleep().cluster, is: false },
];
for (const { name, of, set, is, as = owned } of sleeps) {
  test(`a member ${name}`, async () => {
    const given = { pod: starting.pod!, claim: pending, peer: as };
    const more = { ...(of === undefined ? {} : { cluster: of }), ...(set === undefined ? {} : { replicaSet: set }) };
    expect((await look({ ...given, ...more }, local)).isAsleep).toBe(is);
  });
}

const issuing = { ...owner, spec: { ...owner.spec, tls: DEFAULT_TLS } };
const shows = [
  { name: "the Secrets that its EtcdCluster requests", of: issuing, is: ["my-etcd-peer-tls", "my-etcd-server-tls"] },
  { name: "no Secrets when its EtcdCluster is deleted", is: [] },
  {
    name: "no Secrets of a recreated EtcdCluster",
    of: { ...issuing, metadata: { ...issuing.metadata, uid: "other" } },
    is: [],
  },
];
for (const { name, of, is } of shows) {
  test(`a member may mount ${name}`, async () => {
    const given = { pod: starting.pod!, claim: pending, peer: owned, ...(of === undefined ? {} : { cluster: of }) };
    expect((await look(given, local)).shownSecrets).toEqual(is);
  });
}

function going(cluster: EtcdCluster): EtcdCluster {
  return { ...cluster, metadata: { ...cluster.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
}

function withoutSleep(cluster: EtcdCluster): EtcdCluster {
  const { sleep: _, ...status } = cluster.status!;
  return { ...cluster, status };
}

function wokenAgain(cluster: EtcdCluster): EtcdCluster {
  return { ...cluster, status: { ...cluster.status!, sleep: { ...SLEEP, wakeTime: SLEEP.startTime } } };
}
