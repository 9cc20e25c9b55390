import { expect, test } from "vitest";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { answered } from "#kit/answered.ts";
import { cluster } from "#kit/cluster.ts";
import { asleep } from "#kit/cluster-sleep.ts";
import { peer } from "#kit/peer.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { actOnPeer, type PeerWrites } from "#peer/act.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";

// What belongs to a peer is made a second time only when the API server says that the peer is there: the cache may be behind.

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
  test(`${step.do}: is done for a peer that is there`, async () => {
    expect(await requestsOf(step, old, present(old.peer))).toEqual(["get", "create"]);
  });

  test(`${step.do}: is not done for a peer that is gone, or another one by now, or cannot be looked for`, async () => {
    const another = { ...old.peer, metadata: { ...old.peer.metadata, uid: "another" } };
    await expect(requestsOf(step, old, absent)).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(requestsOf(step, old, present(another))).rejects.toMatchObject({ code: "KubeConflict" });
    await expect(requestsOf(step, old, unknown("no answer"))).rejects.toMatchObject({ code: "KubeUnavailable" });
  });

  test(`${step.do}: is not done for a peer that says something else by now, such as that it has joined`, async () => {
    const generation = (old.peer.metadata.generation ?? 1) + 1;
    const joined = { ...old.peer, metadata: { ...old.peer.metadata, generation } };
    await expect(requestsOf(step, old, present(joined))).rejects.toMatchObject({
      code: "KubeConflict",
      known: { plural: "etcdpeers", uid: old.peer.metadata.uid, resourceVersion: old.peer.metadata.resourceVersion },
    });
  });

  test(`${step.do}: costs no other request for a peer that was just made`, async () => {
    const young = { ...old, takenAtMs: Date.parse(old.peer.metadata.creationTimestamp ?? "") + 1_000 };
    expect(await requestsOf(step, young, absent)).toEqual(["create"]);
  });
}

/** Deletes the claim of a peer. @param live what the API server has of it, and of its cluster @returns what was deleted */
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

test("a claim is deleted only as it was read: whoever has just put it aside is heard", async () => {
  const { namespace, name, uid, resourceVersion } = old.claim!.metadata;
  expect(await deletedFor()).toEqual([
    { kind: "PersistentVolumeClaim", ref: { namespace, name }, preconditions: { uid, resourceVersion } },
  ]);
  expect(resourceVersion).toBeDefined();
});

const { cluster: running } = cluster();
const paused = { ...running, spec: { ...running.spec, paused: true } };

test("nor is one of a peer that is another one by now, or has been written, or of a cluster that is paused", async () => {
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

test("a member is stopped only when the API server itself says that its cluster sleeps", async () => {
  expect(await requestsOf(stop, old, present(asleep().cluster))).toEqual(["get", "replace"]);
  const pausedAsleep = { ...asleep().cluster, spec: { ...asleep().cluster.spec, paused: true } };
  await expect(requestsOf(stop, old, present(pausedAsleep))).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, present(running))).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, absent)).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(requestsOf(stop, old, unknown("no answer"))).rejects.toMatchObject({ code: "KubeUnavailable" });
});

test("nobody is asked before a member is started, or one that is stopped is changed", async () => {
  const start: PeerStep = { ...stop, replicaSet: replicaSet(old) };
  expect(await requestsOf(start, old, absent)).toEqual(["replace"]);
  const stopped = { ...old.replicaSet!, spec: { ...old.replicaSet!.spec!, replicas: 0 } };
  expect(await requestsOf({ ...stop, live: stopped }, old, absent)).toEqual(["replace"]);
});
