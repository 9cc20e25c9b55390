import { describe, expect, test } from "vitest";
import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { claim, cluster, NOW, pod } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import type { PersistentVolumeClaim, Pod, ReplicaSet, StorageClass } from "#kube/kinds.ts";
import {
  capacityOf,
  isInTrouble,
  isOwnClaim,
  type PeerSnapshot,
  pauseOf,
  waitsForVolume,
  whyNotReady,
} from "#peer/snapshot.ts";

test("a cluster that is being deleted is not paused", () => {
  const { cluster: running } = cluster();
  const paused = { ...running, spec: { ...running.spec, paused: true } };
  const deletionTimestamp = "2026-01-01T12:00:00Z";
  expect(pauseOf(paused)).toBe("spec.paused is true");
  expect(pauseOf({ ...paused, metadata: { ...paused.metadata, deletionTimestamp } })).toBeUndefined();
  expect(pauseOf(running)).toBeUndefined();
  expect(pauseOf(undefined)).toBeUndefined();
});

test("a claim has no capacity until it is bound", () => {
  const bound = { ...claim("my-etcd-0"), status: { capacity: { storage: "8Gi" } } } as PersistentVolumeClaim;
  expect(capacityOf({ claim: bound })).toBe("8Gi");
  expect(capacityOf({ claim: { ...bound, status: { capacity: {} } } })).toBeUndefined();
  expect(capacityOf({ claim: { ...bound, status: {} } })).toBeUndefined();
  expect(capacityOf({ claim: undefined })).toBeUndefined();
});

describe("a claim belongs to the member", () => {
  const { clusterID, memberID } = peer().peer.spec;
  const annotated = (cluster?: string, member?: string) =>
    claim("my-etcd-0", {
      ...(cluster === undefined ? {} : { [CLAIM_CLUSTER_ID_ANNOTATION]: cluster }),
      ...(member === undefined ? {} : { [CLAIM_MEMBER_ID_ANNOTATION]: member }),
    });
  test.each([
    ["when it has the member's IDs", annotated(clusterID, memberID), true],
    ["not when it has another member's ID", annotated(clusterID, "abc"), false],
    ["not when it has the same member ID in another cluster", annotated("abc", memberID), false],
    ["not when it has no annotations", annotated(), false],
  ])("%s", (_name, given, own) => expect(isOwnClaim(peer(), given)).toBe(own));

  test("not when the peer has no cluster, with or without annotations", () => {
    const fresh = peer({ stage: "new" });
    const spec = { ...fresh.peer.spec };
    delete spec.clusterID;
    delete spec.memberID;
    expect(isOwnClaim({ ...fresh, peer: { ...fresh.peer, spec } }, annotated())).toBe(false);
  });
});

/** The member's pod with this status and age. */
function podOf(status: object, ageMs = 60_000): Pod {
  const base = pod("my-etcd-0", { ready: false });
  const creationTimestamp = new Date(NOW - ageMs).toISOString();
  return { ...base, metadata: { ...base.metadata, creationTimestamp }, spec: {}, status } as unknown as Pod;
}
const unscheduled = (message: string, ageMs?: number) =>
  podOf({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message }] }, ageMs);
const waiting = (reason: string, message: string) =>
  podOf({ phase: "Pending", containerStatuses: [{ name: "etcd", state: { waiting: { reason, message } } }] });

function claimIn(phase: string): PersistentVolumeClaim {
  return { ...claim("my-etcd-0"), spec: {}, status: { phase } } as PersistentVolumeClaim;
}
/** The member with this pod and a claim in this phase. */
function at(its: Pod | undefined, phase = "Pending", more: Partial<PeerSnapshot> = {}): PeerSnapshot {
  return peer({ with: { pod: its, claim: claimIn(phase), ...more } });
}
const NO_VOLUME = "pod has unbound immediate PersistentVolumeClaims";

describe("the message for a pod that is not ready names the claim", () => {
  test.each([
    ["when the pod has no node because of a missing volume", at(unscheduled(NO_VOLUME)), true],
    ["not when the claim has a volume", at(unscheduled("volume node affinity conflict"), "Bound"), false],
    ["not when the pod lacks something else", at(unscheduled("insufficient memory")), false],
    ["not when the pod has a node", at(waiting("CreateContainerError", "no such volume")), false],
  ])("%s", (_when, given, named) => {
    expect(whyNotReady(given)?.startsWith("claim my-etcd-0 ") ?? false).toBe(named);
    expect(waitsForVolume(given)).toBe(named);
  });

  test("not when there is no pod", () => {
    const failure = { type: "ReplicaFailure", status: "True", message: "exceeded quota for volumes" };
    const given = at(undefined, "Pending", { replicaSet: replicaSetWith([failure]) });
    expect([isInTrouble(given), waitsForVolume(given)]).toEqual([true, false]);
  });

  test("and storage classes are read after ten seconds", () => {
    expect([9_999, 10_000].map((ageMs) => waitsForVolume(at(unscheduled(NO_VOLUME, ageMs))))).toEqual([false, true]);
  });
});

test("ten storage classes are named in the message, and further classes are counted", () => {
  const names = (count: number) => Array.from({ length: count }, (_, n) => `class-${n}`);
  const of = (count: number) =>
    whyNotReady(
      at(unscheduled(NO_VOLUME), "Pending", {
        storageClasses: present(names(count).map((name) => ({ metadata: { name } }) as StorageClass)),
      }),
    );
  expect(of(10)).toMatch(/there are: class-0, .*, class-9$/);
  expect(of(11)).toMatch(/and 1 more$/);
});

function replicaSetWith(conditions: readonly object[]): ReplicaSet {
  return { ...peer().replicaSet!, status: { replicas: 0, conditions } } as ReplicaSet;
}

test.each([
  [
    "is the ReplicaSet's message when ReplicaFailure is True",
    [{ type: "ReplicaFailure", status: "True", message: "quota" }],
    true,
  ],
  [
    "is that the pod is not created yet when ReplicaFailure is False",
    [{ type: "ReplicaFailure", status: "False", message: "quota" }],
    false,
  ],
  [
    "is that the pod is not created yet when another condition is True",
    [{ type: "Other", status: "True", message: "quota" }],
    false,
  ],
])("the reason for a missing pod %s", (_when, conditions, isFailed) => {
  const given = at(undefined, "Bound", { replicaSet: replicaSetWith(conditions) });
  expect(whyNotReady(given)).toBe(isFailed ? "its pod cannot be created: quota" : "its pod is not created yet");
  expect(isInTrouble(given)).toBe(isFailed);
});

test("a pod has a problem ten seconds after its own creation, whatever its ReplicaSet's age is", () => {
  expect([9_999, 10_000].map((ageMs) => isInTrouble(at(unscheduled(NO_VOLUME, ageMs))))).toEqual([false, true]);
});
