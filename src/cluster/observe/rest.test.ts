import { describe, expect, test } from "vitest";
import {
  DRY_RUN_ANNOTATION,
  PAUSED_ANNOTATION,
  REMOVAL_ANNOTATION,
  ROTATE_CA_ANNOTATIONS,
  WAIVE_ANNOTATION,
} from "#api/names.ts";
import { present } from "#base/observed.ts";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { memberIdFromHex } from "#etcd/types.ts";
import { born, calm, cluster, LATER_ID, pod, unpublished } from "#kit/snapshots/cluster.ts";
import { RESTRICTED } from "#kit/snapshots/cluster-network.ts";
import {
  dying,
  withMetadata as edited,
  strange,
  unready,
  WHOLE,
  withCondition,
  withLastPod,
  withMember,
  withoutLastMember,
  withSpec,
} from "#kit/snapshots/cluster-rested.ts";
import { saying, UNREADY_BESIDE, withPod } from "#kit/snapshots/cluster-rolling.ts";
import { asleep, tired, wanted, woken } from "#kit/snapshots/cluster-sleep.ts";
import type { KubeObject, NetworkPolicy } from "#kube/kinds.ts";
import {
  isAtRest,
  isCalledSettled,
  isSettled,
  MINUTELY_MS,
  OBSERVATIONS_APART_MS,
  quickChecksAfter,
  restMs,
  settledMs,
} from "./rest.ts";

const whole = calm(cluster());
const GOING = { deletionTimestamp: "2026-01-01T12:00:00Z" };

/** The snapshot with this condition. */
function saidToBe(type: string, status: "True" | "False" | "Unknown", reason?: string): ClusterSnapshot {
  const others = (whole.cluster.status?.conditions ?? []).filter((condition) => condition.type !== type);
  const condition = { ...others[0]!, type, status, ...(reason === undefined ? {} : { reason }) };
  const conditions = [...others, condition];
  return { ...whole, cluster: { ...whole.cluster, status: { ...whole.cluster.status, conditions } } };
}

function withMetadata(metadata: Partial<ClusterSnapshot["cluster"]["metadata"]>): ClusterSnapshot {
  return { ...whole, cluster: { ...whole.cluster, metadata: { ...whole.cluster.metadata, ...metadata } } };
}

function withReplicas(replicas: number): ClusterSnapshot {
  return { ...whole, cluster: { ...whole.cluster, spec: { ...whole.cluster.spec, replicas } } };
}

/** The last member is listed with this change. */
function listed(last: object): ClusterSnapshot {
  if (whole.members.is !== "present") throw new Error("there is no member list");
  const members = whole.members.value.members.map((member, n) => (n === 2 ? { ...member, ...last } : member));
  return { ...whole, members: present({ ...whole.members.value, members }) };
}

const SETTLED: readonly { name: string; given: ClusterSnapshot }[] = [
  { name: "a cluster that was reported as Ready", given: whole },
  { name: "a cluster with one member", given: calm(cluster({ replicas: 1 })) },
  { name: "a cluster without a backup", given: saidToBe("BackupReady", "False") },
  { name: "a cluster that was paused before", given: saidToBe("Paused", "False") },
  { name: "a cluster without a wanted PodMonitor", given: saidToBe("Monitored", "False", "NotMonitored") },
  {
    name: "a cluster with an API server that does not serve PodMonitors",
    given: saidToBe("Monitored", "False", "MonitorsNotServed"),
  },
  { name: "a cluster with TLS, users and a PodMonitor", given: saidToBe("TLSReady", "True") },
];

const RESTLESS: readonly { name: string; given: ClusterSnapshot }[] = [
  { name: "Ready has not been reported yet", given: cluster() },
  { name: "Ready was reported for an earlier generation", given: withMetadata({ generation: 7 }) },
  { name: "there is no member list", given: { ...whole, members: { is: "unknown", why: "no leader" } } },
  { name: "a member does not answer", given: calm(cluster({ down: ["my-etcd-1"] })) },
  {
    name: "a member has stopped answering",
    given: { ...whole, endpoints: cluster({ down: ["my-etcd-1"] }).endpoints },
  },
  { name: "a member participates and does not serve clients", given: unpublished(whole, "my-etcd-1") },
  { name: "a pod is not Ready", given: withPod(whole, "my-etcd-1", UNREADY_BESIDE) },
  { name: "a member is far behind", given: saying(whole, "my-etcd-1", { raftIndex: 9_000, raftAppliedIndex: 1 }) },
  { name: "a learner is joining", given: listed({ isLearner: true }) },
  { name: "spec.replicas is larger than the number of members", given: withReplicas(5) },
  {
    name: "a member was added by hand",
    given: listed({ id: memberIdFromHex(LATER_ID), name: "by-hand", peerUrls: [] }),
  },
  {
    name: "there is an extra pod",
    given: { ...whole, pods: new Map([...whole.pods, ["my-etcd-9", pod("my-etcd-9", { ready: true })]]) },
  },
  {
    name: "an alarm is raised",
    given: saying(whole, "my-etcd-0", { alarms: [{ memberId: undefined, type: "UNKNOWN" }] }),
  },
  { name: "a downgrade is enabled", given: saying(whole, "my-etcd-0", { downgradeTo: "3.5.0" }) },
  { name: "it is not Available", given: saidToBe("Available", "False") },
  { name: "it is Degraded", given: saidToBe("Degraded", "True") },
  { name: "it is Progressing", given: saidToBe("Progressing", "True") },
  { name: "it is not UpToDate", given: saidToBe("UpToDate", "False") },
  { name: "it is Paused", given: saidToBe("Paused", "True") },
  { name: "a PodMonitor is missing", given: saidToBe("Monitored", "False", "Waiting") },
  { name: "a PodMonitor could not be created", given: saidToBe("Monitored", "False", "StepRefused") },
  { name: "a certificate has a problem", given: saidToBe("TLSReady", "False") },
  { name: "it is unknown whether authentication is on", given: saidToBe("AuthReady", "Unknown") },
  { name: "a member answers with another ID", given: saidToBe("ClusterIDMismatch", "True") },
];

describe("isSettled: a cluster is at rest", () => {
  test.each(SETTLED)("when it is healthy: $name", ({ given }) => {
    expect(isSettled(given)).toBe(true);
  });

  test.each(RESTLESS)("not while $name", ({ given }) => {
    expect(isSettled(given)).toBe(false);
    expect(restMs(given, 1_000, 0)).toBe(10_000);
  });
});

describe("isCalledSettled: a cluster is at rest by its recorded status", () => {
  test("when its conditions are good and no object is missing", () => {
    expect(isCalledSettled(WHOLE)).toBe(true);
  });

  const peer = WHOLE.peers[0]!;
  const asked = withSpec({ networkPolicy: RESTRICTED });
  const policy = born<NetworkPolicy>(networkPolicy(whole));
  test("when it has the NetworkPolicy that its spec asks for", () => {
    expect(isCalledSettled({ ...asked, networkPolicy: policy })).toBe(true);
  });

  const goes = <T extends KubeObject>(object: T): T => ({ ...object, metadata: { ...object.metadata, ...GOING } });
  const isToGo = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, annotations: { [REMOVAL_ANNOTATION]: "scale-down" } },
  });
  test.each([
    { name: "its condition Degraded is True", given: withCondition("Degraded", "True") },
    { name: "its condition Ready is False", given: withCondition("Ready", "False") },
    { name: "it was edited after its status was written", given: edited({ generation: 7 }) },
    { name: "a recorded member is unhealthy", given: withMember({ health: "Unhealthy" }) },
    { name: "a recorded member is a learner", given: withMember({ role: "Learner" }) },
    { name: "a recorded member has no pod of its name", given: withMember({ name: "my-etcd-9" }) },
    { name: "spec.replicas is larger than the number of members", given: withSpec({ replicas: 5 }) },
    { name: "a pod is not ready", given: withLastPod(unready) },
    { name: "a pod is being deleted", given: withLastPod(dying) },
    { name: "a pod is gone", given: { ...WHOLE, pods: new Map([...WHOLE.pods].slice(1)) } },
    {
      name: "there is an extra pod",
      given: { ...WHOLE, pods: new Map([...WHOLE.pods, ["my-etcd-9", pod("my-etcd-9", { ready: true })]]) },
    },
    { name: "a member is missing in the status", given: withoutLastMember() },
    { name: "an EtcdPeer is gone", given: { ...WHOLE, peers: WHOLE.peers.slice(1) } },
    { name: "there is a foreign EtcdPeer", given: { ...WHOLE, foreignPeers: [{ ...peer, metadata: strange(peer) }] } },
    { name: "a claim is gone", given: { ...WHOLE, claims: WHOLE.claims.slice(1) } },
    { name: "a claim is being deleted", given: { ...WHOLE, claims: WHOLE.claims.map(goes) } },
    { name: "an EtcdPeer is being deleted", given: { ...WHOLE, peers: WHOLE.peers.map(goes) } },
    {
      name: "the headless Service is being deleted",
      given: { ...WHOLE, headlessService: goes(WHOLE.headlessService!) },
    },
    { name: "the client Service is being deleted", given: { ...WHOLE, clientService: goes(WHOLE.clientService!) } },
    { name: "the PodDisruptionBudget is being deleted", given: { ...WHOLE, budget: goes(WHOLE.budget!) } },
    { name: "it is being deleted", given: edited(GOING) },
    { name: "a dry run is requested", given: edited({ annotations: { [DRY_RUN_ANNOTATION]: "{}" } }) },
    { name: "a check is waived", given: edited({ annotations: { [WAIVE_ANNOTATION]: "any" } }) },
    ...Object.entries(ROTATE_CA_ANNOTATIONS).map(([side, annotation]) => ({
      name: `a rotation of the CA for ${side} is requested`,
      given: edited({ annotations: { [annotation]: "now" } }),
    })),
    { name: "a removal is recorded", given: { ...WHOLE, peers: WHOLE.peers.map(isToGo) } },
    { name: "spec.paused is set", given: withSpec({ paused: true }) },
    { name: "it is paused by its annotation", given: edited({ annotations: { [PAUSED_ANNOTATION]: "true" } }) },
    { name: "the headless Service is gone", given: { ...WHOLE, headlessService: undefined } },
    { name: "the client Service is gone", given: { ...WHOLE, clientService: undefined } },
    { name: "the PodDisruptionBudget is gone", given: { ...WHOLE, budget: undefined } },
    { name: "its NetworkPolicy is missing", given: asked },
    { name: "the NetworkPolicy is being deleted", given: { ...asked, networkPolicy: goes(policy) } },
    { name: "there is an unwanted NetworkPolicy", given: { ...WHOLE, networkPolicy: policy } },
  ])("not while $name", ({ given }) => {
    expect(isCalledSettled(given)).toBe(false);
  });
});

describe("quick checks after an observation", () => {
  test.each([
    { settled: 0, expected: 0 },
    { settled: 289, expected: 0 },
    { settled: 290, expected: 4 },
    { settled: 10_000, expected: 4 },
  ])("are $expected when $settled clusters are at rest", ({ settled, expected }) => {
    expect(quickChecksAfter(settled)).toBe(expected);
  });

  test("end within 315 s, the longest time between two observations", () => {
    expect(OBSERVATIONS_APART_MS).toBe(315_000);
    expect(settledMs(whole.cluster, 10_000, 0)).toBe(restMs(whole, 10_000, 0));
  });
});

describe("the time between two observations", () => {
  // Its turn is 0.249 of a period before the period ends.
  const given = withMetadata({ uid: "c-2" });

  test.each([
    { settled: 1, nowMs: 0, expected: 10_000 },
    { settled: 50, nowMs: 0, expected: 10_000 },
    { settled: 51, nowMs: 0, expected: 7_661 },
    { settled: 100, nowMs: 0, expected: 15_022 },
    { settled: 289, nowMs: 0, expected: 43_412 },
    { settled: 290, nowMs: 0, expected: 43_562 },
    { settled: 10_000, nowMs: 0, expected: 43_562 },
    { settled: 1_000, nowMs: 1_000_000, expected: 29_562 },
    { settled: 1_000, nowMs: 43_062, expected: 500 },
  ])("with $settled clusters at rest, $nowMs ms after the start, is $expected ms", ({ settled, nowMs, expected }) => {
    expect(restMs(given, settled, nowMs)).toBe(expected);
  });

  test.each([43_063, 43_561])(
    "is not shortened after an observation that came slightly early, %d ms after the start",
    (nowMs) => {
      expect(restMs(given, 1_000, nowMs)).toBe(101_562 - nowMs);
      expect(restMs(given, 1_000, 101_562)).toBe(58_000);
    },
  );

  test("is at most slightly longer than a minute, so that minutely reads are due in each observation", () => {
    const furthestMs = restMs(given, 1_000, 101_562);
    expect(MINUTELY_MS).toBeLessThan(furthestMs);
    expect(MINUTELY_MS).toBeGreaterThanOrEqual(furthestMs - 3_000);
  });

  test("is as long as at rest for a cluster without pods that sleeps or was never formed", () => {
    const never = wanted(cluster({ stage: "new" }), 0);
    for (const [sleeping, isAt] of [
      [asleep(), true],
      [never, true],
      [{ ...asleep(), pods: whole.pods }, false],
      [tired(), false],
      [{ ...woken(), members: { is: "unknown", why: "no leader" } } as const, false],
    ] as const) {
      const due = settledMs(sleeping.cluster, 1_000, 0);
      expect(due).toBeGreaterThan(10_000);
      expect([isAtRest(sleeping), restMs(sleeping, 1_000, 0)]).toEqual(isAt ? [true, due] : [false, 10_000]);
    }
    expect([isAtRest(whole), isAtRest(cluster())]).toEqual([true, false]);
    // A cluster without pods that is not to sleep has work to do.
    expect(isAtRest({ ...cluster(), pods: new Map() })).toBe(false);
  });

  test("differs by cluster, so that observations are spread out", () => {
    const uids = Array.from({ length: 100 }, (_, n) => `cluster-${n}`);
    const tenths = new Set(uids.map((uid) => Math.floor(restMs(withMetadata({ uid }), 1_000, 0) / 5_800)));
    expect(tenths.size).toBeGreaterThanOrEqual(10);
  });
});
