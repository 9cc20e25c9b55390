import { expect, test } from "vitest";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { answered } from "#kit/tables/answered.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { actOnPeer, type PeerWrites } from "#peer/act.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";

// Objects of an older peer are created only when the API server confirms the EtcdPeer: the cache may be stale.

const old = peer();
const steps: PeerStep[] = [
  { do: "createClaim", claim: volumeClaim(old) },
  { do: "createReplicaSet", replicaSet: replicaSet(old) },
];

/** @returns the requests, by verb */
async function requestsOf(step: PeerStep, snapshot: PeerSnapshot, live: Observed<KubeObject>): Promise<string[]> {
  const requests: string[] = [];
  const kube = {
    get: () => {
      requests.push("get");
      return answered(live);
    },
    create: (_: Resource<KubeObject>, draft: KubeObject) => {
      requests.push("create");
      return Promise.resolve(draft);
    },
    replace: (_: Resource<KubeObject>, draft: KubeObject) => {
      requests.push("replace");
      return Promise.resolve(draft);
    },
  } as unknown as PeerWrites;
  await actOnPeer(kube, step, snapshot, new AbortController().signal);
  return requests;
}

for (const step of steps) {
  test(`${step.do}: is done when the EtcdPeer exists on the API server`, async () => {
    expect(await requestsOf(step, old, present(old.peer))).toEqual(["get", "create"]);
  });

  test(`${step.do}: is refused when the EtcdPeer is deleted, recreated, or could not be read`, async () => {
    const another = { ...old.peer, metadata: { ...old.peer.metadata, uid: "another" } };
    await expect(requestsOf(step, old, absent)).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(requestsOf(step, old, present(another))).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(requestsOf(step, old, unknown("no answer"))).rejects.toMatchObject({ code: "KubeUnavailable" });
  });

  test(`${step.do}: is refused when the EtcdPeer's spec has changed, for example because the member has joined`, async () => {
    const generation = (old.peer.metadata.generation ?? 1) + 1;
    const joined = { ...old.peer, metadata: { ...old.peer.metadata, generation } };
    await expect(requestsOf(step, old, present(joined))).rejects.toMatchObject({
      code: "KubeConflict",
      known: { plural: "etcdpeers", uid: old.peer.metadata.uid, resourceVersion: old.peer.metadata.resourceVersion },
    });
  });

  test(`${step.do}: does not read an EtcdPeer that was created one second ago`, async () => {
    const young = { ...old, takenAtMs: Date.parse(old.peer.metadata.creationTimestamp ?? "") + 1_000 };
    expect(await requestsOf(step, young, absent)).toEqual(["create"]);
  });
}

/**
 * Deletes the claim of a peer.
 * @param live the peer and its cluster at the API server
 * @returns the deleted objects
 */
async function deletedFor(live: { peer?: Observed<KubeObject>; cluster?: Observed<KubeObject> } = {}) {
  const deleted: unknown[] = [];
  const kube = {
    get: ({ kind }: Resource<KubeObject>) =>
      answered<KubeObject>(
        (kind === "EtcdPeer" ? live.peer : live.cluster) ?? (kind === "EtcdPeer" ? present(old.peer) : absent),
      ),
    delete: ({ kind }: Resource<KubeObject>, ref: object, { preconditions }: { preconditions?: object }) => {
      deleted.push({ kind, ref, preconditions });
      return Promise.resolve();
    },
  } as unknown as PeerWrites;
  await actOnPeer(kube, { do: "deleteClaim", claim: old.claim! }, old, new AbortController().signal);
  return deleted;
}

test("a claim is deleted with its resourceVersion as precondition, so a new quarantine label prevents the deletion", async () => {
  const { namespace, name, uid, resourceVersion } = old.claim!.metadata;
  expect(await deletedFor()).toEqual([
    { kind: "PersistentVolumeClaim", ref: { namespace, name }, preconditions: { uid, resourceVersion } },
  ]);
  expect(resourceVersion).toBeDefined();
});

const { cluster: running } = cluster();
const paused = { ...running, spec: { ...running.spec, paused: true } };

test("a claim is not deleted when its EtcdPeer has changed or is recreated, or the cluster is paused", async () => {
  const { metadata } = old.peer;
  const written = present({ ...old.peer, metadata: { ...metadata, resourceVersion: "999" } });
  for (const peer of [absent, written, present({ ...old.peer, metadata: { ...metadata, uid: "another" } })])
    await expect(deletedFor({ peer })).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(deletedFor({ cluster: present(paused) })).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(deletedFor({ cluster: unknown("no answer") })).rejects.toMatchObject({ code: "KubeUnavailable" });
  const deletionTimestamp = "2026-01-01T12:00:00Z";
  const leaving = { ...paused, metadata: { ...paused.metadata, deletionTimestamp } };
  for (const of of [present(running), present(leaving)]) expect(await deletedFor({ cluster: of })).toHaveLength(1);
});

const stop: PeerStep = {
  do: "replaceReplicaSet",
  live: old.replicaSet!,
  replicaSet: replicaSet({ ...old, isAsleep: true }),
};

test("a member is stopped only when the API server confirms that its cluster sleeps and is not paused", async () => {
  expect(await requestsOf(stop, old, present(asleep().cluster))).toEqual(["get", "replace"]);
  const pausedAsleep = { ...asleep().cluster, spec: { ...asleep().cluster.spec, paused: true } };
  await expect(requestsOf(stop, old, present(pausedAsleep))).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, present(running))).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, absent)).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, unknown("no answer"))).rejects.toMatchObject({ code: "KubeUnavailable" });
});

test("starting a member, or changing a stopped member, does not read the EtcdCluster", async () => {
  const start: PeerStep = { ...stop, replicaSet: replicaSet(old) };
  expect(await requestsOf(start, old, absent)).toEqual(["replace"]);
  const stopped = { ...old.replicaSet!, spec: { ...old.replicaSet!.spec!, replicas: 0 } };
  expect(await requestsOf({ ...stop, live: stopped }, old, absent)).toEqual(["replace"]);
});
