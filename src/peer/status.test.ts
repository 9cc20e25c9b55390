import { describe, expect, test } from "vitest";
import type { EtcdPeerStatus } from "#api/v1beta1/peer.ts";
import { unknown } from "#base/observed.ts";
import { born, NOW, pod } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import type { KubeObject, Pod, ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { planPeer } from "#peer/plan.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import { failingStatus, mayWait, peerStatus, postponeStatusMs } from "#peer/status.ts";

function statusOf(given: PeerSnapshot): EtcdPeerStatus {
  return peerStatus(given, planPeer(given));
}

const BORN_AT_MS = NOW - 3_600_000;
const pulling = {
  ...pod("my-etcd-0", { ready: false }),
  spec: {},
  status: { phase: "Pending", containerStatuses: [{ name: "etcd", state: { waiting: { reason: "ErrImagePull" } } }] },
} as unknown as Pod;

/** A peer of this age with a pod that has not started. */
function young(ageMs: number, before?: EtcdPeerStatus): PeerSnapshot {
  const given = peer({ stage: "starting", ...(before === undefined ? {} : { status: before }) });
  return { ...given, pod: pulling, takenAtMs: BORN_AT_MS + ageMs };
}

test.each([
  ["not at its creation", 0, true],
  ["not within its first ten seconds", 9_999, true],
  ["after ten seconds", 10_000, false],
  ["when the clock is behind", -1, false],
])("peer status: the problem of a new peer's pod is reported %s", (_when, ageMs, quiet) => {
  const given = young(ageMs);
  const [ready] = statusOf(given).conditions ?? [];
  expect(ready).toMatchObject({ type: "Ready", status: "False", reason: "PodPending" });
  if (quiet) expect(ready?.message).toBe("its pod is starting");
  else expect(ready?.message).toContain("ErrImagePull");
  expect(mayWait(given, statusOf(given))).toBe(quiet);
});

test.each([
  ["cannot be pulled", { waiting: { reason: "ErrImagePull" } }, "container agent waits: ErrImagePull"],
  ["crashes", { waiting: { reason: "CrashLoopBackOff" } }, "container agent waits: CrashLoopBackOff"],
  ["has ended", { terminated: { exitCode: 1, reason: "Error" } }, "container agent ended: Error with exit code 1"],
])("peer status: a sidecar that %s is reported while etcd runs, since the pod is not ready", (_, state, message) => {
  const its = pod("my-etcd-0", { ready: false });
  const containerStatuses = [
    { name: "agent", state },
    { name: "etcd", state: { running: {} } },
  ];
  const given = peer({ with: { pod: { ...its, status: { ...its.status, containerStatuses } } as unknown as Pod } });
  const [ready] = statusOf(given).conditions ?? [];
  expect(ready).toMatchObject({ type: "Ready", status: "False", reason: "PodPending" });
  expect(ready?.message).toContain(message);
});

/** A peer, a ReplicaSet and a pod of these ages in seconds. */
function madeBefore(
  seconds: { peer: number; replicaSet?: number; pod?: number },
  because: "pull" | "silence" = "pull",
) {
  const given = young(0);
  const made = <T extends KubeObject>(object: T, age: number | undefined) =>
    age === undefined ? undefined : ({ ...object, metadata: { ...object.metadata, creationTimestamp: ago(age) } } as T);
  const silent = { endpoint: unknown("no answer") };
  return {
    ...given,
    ...(because === "silence" ? silent : {}),
    peer: made(given.peer, seconds.peer)!,
    replicaSet: made(replicaSet(given) as ReplicaSet, seconds.replicaSet),
    pod: made(because === "silence" ? pod("my-etcd-0", { ready: true }) : pulling, seconds.pod),
    takenAtMs: NOW,
  } satisfies PeerSnapshot;
}

function ago(seconds: number): string {
  return new Date(NOW - seconds * 1_000).toISOString();
}

test.each([
  [{ peer: 9 }, true],
  [{ peer: 10 }, false],
  [{ peer: 59, replicaSet: 9 }, true],
  [{ peer: 59, replicaSet: 10 }, false],
  [{ peer: 59, replicaSet: 30, pod: 9 }, true],
  [{ peer: 59, replicaSet: 30, pod: 10 }, false],
  [{ peer: 59, replicaSet: 30, pod: -1 }, false],
  [{ peer: 60, replicaSet: 9 }, false],
  [{ peer: 60, replicaSet: 9, pod: 9 }, false],
  [{ peer: -1, replicaSet: 9, pod: 9 }, false],
])(
  "peer status: a young pod's problem waits in the peer's first minute, at ages %j in seconds: %s",
  (seconds, isQuiet) => {
    const given = madeBefore(seconds);
    expect(statusOf(given).conditions).toMatchObject([{ reason: "PodPending" }]);
    expect(mayWait(given, statusOf(given))).toBe(isQuiet);
  },
);

test.each([
  ["waits while its pod has been ready for less than ten seconds", 59, { for: 9.9 }, true],
  ["is reported when its pod has been ready for ten seconds", 59, { for: 10 }, false],
  ["is reported when the clock is behind", 59, { for: -0.1 }, false],
  ["is reported a minute after the peer was created", 60, { for: 1 }, false],
  ["is reported when the transition time of its pod is unknown", 59, {}, false],
  ["is reported when its pod is not ready", 59, { for: 1, status: "False" }, false],
  ["is reported when only another condition of its pod is new", 59, { for: 1, type: "Initialized" }, false],
])("peer status: that a new member does not answer %s", (_, peerAge, change, isQuiet) => {
  const bare = madeBefore({ peer: peerAge, replicaSet: 50, pod: 50 }, "silence");
  const { for: since, ...rest } = { type: "Ready", status: "True", for: undefined, ...change };
  const condition = { ...rest, ...(since === undefined ? {} : { lastTransitionTime: ago(since) }) };
  const conditions = rest.type === "Ready" ? [condition] : [condition, { type: "Ready", status: "True" }];
  const given = { ...bare, pod: { ...bare.pod, status: { ...bare.pod?.status, conditions } } as unknown as Pod };
  const unreached = { conditions: [said("Ready", "False", "MemberUnreachable")] };
  if (rest.status === "True") expect(statusOf(given).conditions).toMatchObject([{ reason: "MemberUnreachable" }]);
  expect(mayWait(given, unreached)).toBe(isQuiet);
  expect(mayWait(given, { conditions: [said("Ready", "False", "ClaimTaken")] })).toBe(false);
});

test("peer status: a peer without a creation time is not new", () => {
  const given = young(0);
  const { creationTimestamp: _, ...metadata } = given.peer.metadata;
  expect(mayWait({ ...given, peer: { ...given.peer, metadata } }, statusOf(given))).toBe(false);
});

function said(type: string, status: "True" | "False", reason: string) {
  return { type, status, reason, message: "", observedGeneration: 1, lastTransitionTime: "2026-01-01T11:30:00Z" };
}

test("peer status: a new peer's problem is reported at once when it was ready, or is not its pod's", () => {
  const given = young(1_000);
  const status = (...conditions: ReturnType<typeof said>[]): EtcdPeerStatus => ({ conditions });
  const pending = said("Ready", "False", "PodPending");
  expect(mayWait(given, status(said("Other", "False", "ClaimTaken"), pending))).toBe(true);
  expect(mayWait(given, status(said("Other", "False", "PodPending"), said("Ready", "False", "ClaimTaken")))).toBe(
    false,
  );
  expect(mayWait(young(1_000, status(said("Ready", "True", "MemberHealthy"))), status(pending))).toBe(false);
  expect(mayWait(young(1_000, status(said("Other", "True", "Other"), pending)), status(pending))).toBe(true);
});

describe("the first status of a new member", () => {
  const cases = [
    ["waits until the member is fenced", 0, { isFenced: false, isSeen: true }, 30_000],
    ["waits until the ReplicaSet controller has observed the fence", 29_999, { isFenced: true, isSeen: false }, 1],
    ["is written at once when the member and its ReplicaSet are fenced", 1_000, { isFenced: true, isSeen: true }, 0],
    ["waits at most half a minute after the pod became ready", 30_000, { isFenced: false, isSeen: true }, 0],
    ["does not wait when the clock is behind", -1, { isFenced: false, isSeen: true }, 0],
    ["does not wait when the transition time of the pod is unknown", undefined, { isFenced: false, isSeen: true }, 0],
  ] as const;
  test.each(cases)("peer status: %s", (_when, readyForMs, { isFenced, isSeen }, inMs) => {
    const given = peer({ stage: isFenced ? "fenced" : "starting" });
    const set = { ...replicaSet(given), status: { observedGeneration: isSeen ? 1 : 0 } } as unknown as ReplicaSet;
    const now = { ...given, replicaSet: { ...set, metadata: { ...set.metadata, generation: 1 } } } as PeerSnapshot;
    const since = readyForMs === undefined ? {} : { lastTransitionTime: ago(readyForMs / 1_000) };
    const ready = { type: "Ready", status: "True", ...since };
    const status = { ...now.pod?.status, conditions: [ready] };
    const snapshot = { ...now, pod: { ...now.pod, status } as unknown as Pod, takenAtMs: NOW };
    const healthy = { conditions: [said("Ready", "True", "MemberHealthy")] };
    expect(postponeStatusMs(snapshot)).toBe(inMs);
    expect(mayWait(snapshot, healthy)).toBe(inMs > 0);
    const known = { ...snapshot, peer: { ...snapshot.peer, status: healthy } };
    expect(mayWait(known, healthy)).toBe(false);
  });
});

test("peer status: the status has the observed generation, and keeps other conditions", () => {
  const given = peer({ status: { conditions: [said("Other", "True", "Other")] } });
  const statusAt = (generation: number | undefined) => {
    const { generation: _, ...metadata } = given.peer.metadata;
    const known = generation === undefined ? metadata : { ...metadata, generation };
    return statusOf({ ...given, peer: { ...given.peer, metadata: known } });
  };
  expect(statusAt(7)).toMatchObject({
    observedGeneration: 7,
    conditions: [{ type: "Other" }, { observedGeneration: 7 }],
  });
  expect(statusAt(undefined).observedGeneration).toBe(0);
});

test("peer status: an observation's error is recorded with and without an earlier status", () => {
  const { peer: settled } = peer();
  const condition = { type: "Other", status: "True", reason: "X", message: "", observedGeneration: 1 };
  const other = { ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const { generation: _, ...metadata } = settled.metadata;
  const said = { type: "Ready", status: "Unknown", reason: "InternalError", message: "it fails" };
  const at = { lastTransitionTime: "1970-01-01T00:00:00Z" };
  const live = { metadata: { ...metadata, generation: 7 }, status: { serverVersion: "3.6.16", conditions: [other] } };
  expect(failingStatus({ ...settled, ...live } as never, "it fails", 0)).toEqual({
    serverVersion: "3.6.16",
    conditions: [other, { ...said, ...at, observedGeneration: 7 }],
  });
  expect(failingStatus({ ...settled, metadata, status: undefined } as never, "it fails", 0)).toEqual({
    conditions: [{ ...said, ...at, observedGeneration: 0 }],
  });
});

test("peer status: a sleeping member is Asleep, and ClaimLost when its claim does not exist", () => {
  const isAsleep = true;
  const stopped = peer({ with: { isAsleep, pod: undefined, endpoint: undefined } });
  const asleep = { ...stopped, replicaSet: born<ReplicaSet>(replicaSet(stopped)) };
  const [ready] = statusOf(asleep).conditions ?? [];
  expect(ready).toMatchObject({ type: "Ready", status: "False", reason: "Asleep" });
  expect(ready?.message).toBe(
    "its EtcdCluster sleeps (spec.replicas is 0), or is just waking up: its pod is stopped, and its data is kept",
  );
  const stopping = { ...asleep, pod: pod("my-etcd-0", { ready: true }) };
  expect(statusOf(stopping).conditions?.[0]).toMatchObject({ status: "False", reason: "Asleep" });
  const lost = { ...asleep, claim: undefined };
  expect(statusOf(lost).conditions?.[0]).toMatchObject({ status: "False", reason: "ClaimLost" });
});
