import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  changedPeer,
  cluster,
  pod,
  unpublished,
  withArrival,
  withoutMember,
  withRemoval,
} from "#kit/snapshots/cluster.ts";
import { withJoined } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, wanting, withCanary, withStop } from "#kit/snapshots/cluster-rolling.ts";
import { askedAt } from "./client-service-answer.ts";

/** The client Service has this address. */
function addressed(snapshot: ClusterSnapshot, clusterIP: string): ClusterSnapshot {
  const { clientService } = snapshot;
  if (clientService === undefined) return snapshot;
  return { ...snapshot, clientService: { ...clientService, spec: { ...clientService.spec, clusterIP } } };
}

/** The recorded condition Ready is True for this generation. */
function ready(snapshot: ClusterSnapshot, observedGeneration: number): ClusterSnapshot {
  const condition = { type: "Ready", status: "True" as const, reason: "AllMembersHealthy", message: "" };
  const conditions = [{ ...condition, observedGeneration, lastTransitionTime: "2026-01-01T11:00:00Z" }];
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { ...snapshot.cluster.status, conditions } } };
}

const settled = cluster();
const paused = { [PAUSED_ANNOTATION]: "true" };
const unready = new Map(settled.pods).set("my-etcd-1", pod("my-etcd-1", { ready: false }));

const cases: {
  name: string;
  given: ClusterSnapshot;
  /** not yet: there is a step to take first. */
  expect: "asked" | "not asked" | "not yet asked";
}[] = [
  { name: "all members serve", given: settled, expect: "asked" },
  {
    name: "the client Service does not exist",
    given: cluster({ with: { clientService: undefined } }),
    expect: "not yet asked",
  },
  { name: "the cluster was Ready before an edit", given: ready(settled, 0), expect: "asked" },
  { name: "the cluster is being formed", given: cluster({ stage: "starting" }), expect: "not asked" },
  {
    name: "members that have joined are yet to be fenced",
    given: cluster({ stage: "joined" }),
    expect: "not yet asked",
  },
  {
    name: "the cluster is paused and members that have joined are yet to be fenced",
    given: cluster({ stage: "joined", annotations: paused }),
    expect: "asked",
  },
  {
    name: "the cluster was paused before a majority was recorded as joined",
    given: withJoined(cluster({ stage: "joined", annotations: paused }), 1),
    expect: "not asked",
  },
  { name: "the cluster is paused", given: cluster({ annotations: paused }), expect: "asked" },
  { name: "a pod is not ready", given: { ...settled, pods: unready }, expect: "not asked" },
  { name: "a pod is gone", given: { ...settled, pods: new Map([...settled.pods].slice(1)) }, expect: "not asked" },
  { name: "a member does not answer", given: cluster({ down: ["my-etcd-1"] }), expect: "not asked" },
  {
    name: "a member does not serve clients although its pod is Ready",
    given: { ...unpublished(settled, "my-etcd-1"), pods: settled.pods },
    expect: "not asked",
  },
  {
    name: "spec.replicas is larger than the number of members",
    given: cluster({ spec: { replicas: 5 } }),
    expect: "not yet asked",
  },
  {
    name: "spec.replicas is smaller than the number of members",
    given: cluster({ replicas: 5, spec: { replicas: 3 } }),
    expect: "not yet asked",
  },
  { name: "a learner is joining", given: withArrival(settled, "my-etcd-3", "synced"), expect: "not yet asked" },
  { name: "a member was removed", given: withoutMember(settled, "my-etcd-2"), expect: "not yet asked" },
  {
    name: "a recorded removal is about to be cancelled",
    given: withRemoval(settled, "my-etcd-2", "replacement"),
    expect: "asked",
  },
  {
    name: "an unneeded intent is being deleted",
    given: begin(settled).apply(withArrival, "my-etcd-3", "intended").apply(changedPeer, "my-etcd-3", {
      deletionTimestamp: "2026-01-01T11:59:00Z",
    }).snapshot,
    expect: "asked",
  },
  {
    name: "spec.version is refused because no path leads to it",
    given: cluster({ spec: { version: "3.4.35" } }),
    expect: "asked",
  },
  { name: "spec.version has changed and no member has restarted", given: wanting(NEWER), expect: "not yet asked" },
  {
    name: "the canary has restarted with a new version",
    given: withCanary(wanting(NEWER), "my-etcd-2"),
    expect: "not asked",
  },
  { name: "an update was stopped", given: withStop(wanting(NEWER), "my-etcd-2"), expect: "asked" },
];

for (const { name, given, expect: wanted } of cases) {
  const snapshot = addressed(given, "10.96.0.7");
  test(`client Service: when ${name}, the Service is ${wanted}`, () => {
    expect(askedAt(snapshot)).toBe(wanted === "asked" ? "10.96.0.7:2379" : undefined);
  });
  if (wanted === "asked") continue;
  test(`client Service: when ${name}, this observation does not report Ready`, () => {
    const plan = planCluster(snapshot);
    const ready = clusterStatus(snapshot, plan).conditions?.find(({ type }) => type === "Ready");
    // A step is followed by another observation, which reports.
    expect(plan.next === "step" ? "not told" : ready?.status).toBe(wanted === "not yet asked" ? "not told" : "False");
  });
}

test("client Service: an IPv6 cluster IP is put in brackets, and a headless Service has no address", () => {
  expect(askedAt(addressed(settled, "fd00::7"))).toBe("[fd00::7]:2379");
  expect(askedAt(addressed(settled, "None"))).toBeUndefined();
});

test("client Service: when the cluster is Ready for this generation, the Service is not asked", () => {
  expect(askedAt(begin(settled).apply(addressed, "10.96.0.7").apply(ready, 1).snapshot)).toBeUndefined();
});
