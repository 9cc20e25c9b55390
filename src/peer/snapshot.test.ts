import { describe, expect, test } from "vitest";
import { CLAIM_CLUSTER_ID_ANNOTATION, CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { claim, cluster, NOW, pod } from "#kit/cluster.ts";
import { peer } from "#kit/peer.ts";
import type { PersistentVolumeClaim, Pod, ReplicaSet, StorageClass } from "#kube/kinds.ts";
import { isInTrouble, isOwnClaim, type PeerSnapshot, pauseOf, waitsForVolume, whyNotReady } from "#peer/snapshot.ts";

test("a pause keeps a cluster from what is done to its members, and not from going", () => {
  const { cluster: running } = cluster();
  const paused = { ...running, spec: { ...running.spec, paused: true } };
  const deletionTimestamp = "2026-01-01T12:00:00Z";
  expect(pauseOf(paused)).toBe("spec.paused is true");
  expect(pauseOf({ ...paused, metadata: { ...paused.metadata, deletionTimestamp } })).toBeUndefined();
  expect(pauseOf(running)).toBeUndefined();
  expect(pauseOf(undefined)).toBeUndefined();
});

describe("whose claim is it?", () => {
  const { clusterID, memberID } = peer().peer.spec;
  const saying = (cluster?: string, member?: string) =>
    claim("my-etcd-0", {
      ...(cluster === undefined ? {} : { [CLAIM_CLUSTER_ID_ANNOTATION]: cluster }),
      ...(member === undefined ? {} : { [CLAIM_MEMBER_ID_ANNOTATION]: member }),
    });
  test.each([
    ["the member's", saying(clusterID, memberID), true],
    ["another member's", saying(clusterID, "abc"), false],
    ["that of a member of the same ID in another cluster", saying("abc", memberID), false],
    ["nobody's, when it says nothing", saying(), false],
  ])("%s", (_whose, given, own) => expect(isOwnClaim(peer(), given)).toBe(own));

  test("a peer that belongs to no cluster yet owns no claim, not even one that says nothing", () => {
    const fresh = peer({ stage: "new" });
    const spec = { ...fresh.peer.spec };
    delete spec.clusterID;
    delete spec.memberID;
    expect(isOwnClaim({ ...fresh, peer: { ...fresh.peer, spec } }, saying())).toBe(false);
  });
});

/** The member's pod in this state, so old. */
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
/** The member waits with this pod for its claim. */
function at(its: Pod | undefined, phase = "Pending", more: Partial<PeerSnapshot> = {}): PeerSnapshot {
  return peer({ with: { pod: its, claim: claimIn(phase), ...more } });
}
const NO_VOLUME = "pod has unbound immediate PersistentVolumeClaims";

describe("the claim is named", () => {
  test.each([
    ["when the pod has no node for want of a volume", at(unscheduled(NO_VOLUME)), true],
    ["not when it has a volume", at(unscheduled("volume node affinity conflict"), "Bound"), false],
    ["not when something else is missing", at(unscheduled("insufficient memory")), false],
    ["not when the pod has a node", at(waiting("CreateContainerError", "no such volume")), false],
  ])("%s", (_when, given, named) => {
    expect(whyNotReady(given)?.startsWith("claim my-etcd-0 ") ?? false).toBe(named);
    expect(waitsForVolume(given)).toBe(named);
  });

  test("not before there is a pod", () => {
    const failure = { type: "ReplicaFailure", status: "True", message: "exceeded quota for volumes" };
    const given = at(undefined, "Pending", { replicaSet: replicaSetWith([failure]) });
    expect([isInTrouble(given), waitsForVolume(given)]).toEqual([true, false]);
  });

  test("classes are asked for only after ten seconds", () => {
    expect([9_999, 10_000].map((ageMs) => waitsForVolume(at(unscheduled(NO_VOLUME, ageMs))))).toEqual([false, true]);
  });
});

test("ten classes are all named, of more it is told how many", () => {
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
  ["the ReplicaSet was refused a pod", [{ type: "ReplicaFailure", status: "True", message: "quota" }], true],
  ["that is over", [{ type: "ReplicaFailure", status: "False", message: "quota" }], false],
  ["something else is true of it", [{ type: "Other", status: "True", message: "quota" }], false],
])("why there is no pod is told when %s", (_when, conditions, told) => {
  const given = at(undefined, "Bound", { replicaSet: replicaSetWith(conditions) });
  expect(whyNotReady(given)).toBe(told ? "its pod cannot be created: quota" : "its pod is not created yet");
  expect(isInTrouble(given)).toBe(told);
});

test("how long it has lasted is counted from the pod, not from its ReplicaSet", () => {
  expect([9_999, 10_000].map((ageMs) => isInTrouble(at(unscheduled(NO_VOLUME, ageMs))))).toEqual([false, true]);
});
