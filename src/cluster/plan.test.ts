import { expect, test } from "vitest";
import { CLAIM_CLUSTER_ID_ANNOTATION } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES, type ClusterStep, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Service } from "#kube/kinds.ts";
import type { Plan } from "#runtime/decide.ts";
import { born, claim, cluster, endpointStatus } from "../../test/kit/cluster.ts";

/** A plan in a few words: what, and by whose decision. */
function said(plan: Plan<ClusterStep>): string {
  switch (plan.next) {
    case "settled":
      return "settled";
    case "wait":
      return `wait: ${plan.rule}`;
    case "step":
      return `${plan.rule}: ${nameOf(plan.step)}`;
  }
}

function nameOf(step: ClusterStep): string {
  if (step.do === "createPeer" || step.do === "replacePeer") {
    return `${step.do} ${step.peer.metadata.name} ${step.peer.spec?.bootstrap?.initialClusterState ?? "fenced"}`;
  }
  if (step.do === "recordJoined") return `recordJoined ${step.names.join(" ")}`;
  if (step.do === "createService" || step.do === "replaceService") return `${step.do} ${step.service.metadata.name}`;
  return step.do;
}

function without(snapshot: ClusterSnapshot, ...peers: readonly string[]): ClusterSnapshot {
  return { ...snapshot, peers: snapshot.peers.filter(({ metadata }) => !peers.includes(metadata.name)) };
}

const starting = cluster({ stage: "starting" });
const identity = starting.cluster.status!.identity!;
const [first, second] = identity.initialMembers;
const foreignService = born<Service>({
  ...starting.headlessService!,
  metadata: { ...starting.headlessService!.metadata, ownerReferences: [] },
});

const cases: { name: string; given: ClusterSnapshot; expect: string }[] = [
  { name: "does nothing when all is well", given: cluster(), expect: "settled" },
  {
    name: "does nothing for a cluster that is being deleted",
    given: cluster({ stage: "new", deleting: true }),
    expect: "settled",
  },
  {
    name: "writes down who the cluster is before anything else",
    given: cluster({ stage: "new" }),
    expect: "record-identity: recordIdentity",
  },
  {
    name: "does not start over the claims of an earlier cluster",
    given: cluster({ stage: "new", with: { claims: [claim("my-etcd-0", { [CLAIM_CLUSTER_ID_ANNOTATION]: "abc" })] } }),
    expect: "wait: claim-taken",
  },
  {
    name: "does not take over a Service of its name",
    given: cluster({ stage: "new", with: { headlessService: foreignService } }),
    expect: "wait: name-taken",
  },
  {
    name: "makes names resolvable before members",
    given: cluster({ stage: "recorded" }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "creates the members of the frozen list",
    given: cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
    expect: "bootstrap: createPeer my-etcd-0 New",
  },
  {
    name: "creates only what is missing of the frozen list",
    given: without(starting, "my-etcd-1"),
    expect: "bootstrap: createPeer my-etcd-1 New",
  },
  {
    name: "keeps to the frozen list when replicas is edited while forming",
    given: cluster({ stage: "starting", spec: { replicas: 5 } }),
    expect: "wait: await-members",
  },
  {
    name: "makes the client Service after the members",
    given: cluster({ stage: "starting", with: { clientService: undefined } }),
    expect: "client-service: createService my-etcd-client",
  },
  {
    name: "makes the budget after the members",
    given: cluster({ stage: "starting", with: { budget: undefined } }),
    expect: "disruption-budget: createBudget",
  },
  { name: "waits for members to join", given: starting, expect: "wait: await-members" },
  {
    name: "records those that have joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, first!.id))]]),
    },
    expect: "record-joined: recordJoined my-etcd-0",
  },
  {
    name: "does not take a member without a leader for joined",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, first!.id, undefined))]]),
    },
    expect: "wait: await-members",
  },
  {
    name: "does not believe a member of another cluster",
    given: { ...starting, endpoints: new Map([[first!.name, present(endpointStatus("abc", first!.id, first!.id))]]) },
    expect: "wait: await-members",
  },
  {
    name: "does not believe a member that answers as another one",
    given: {
      ...starting,
      endpoints: new Map([[first!.name, present(endpointStatus(identity.clusterID, second!.id, first!.id))]]),
    },
    expect: "wait: await-members",
  },
  {
    name: "fences members that have joined",
    given: cluster({ stage: "joined" }),
    expect: "fence: replacePeer my-etcd-0 fenced",
  },
  {
    name: "gives a joined member its peer back, fenced",
    given: without(cluster(), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "gives it back without a quorum too",
    given: without(cluster({ down: ["my-etcd-1", "my-etcd-2"] }), "my-etcd-2"),
    expect: "restore-peer: createPeer my-etcd-2 fenced",
  },
  {
    name: "puts a deleted Service back",
    given: cluster({ with: { headlessService: undefined } }),
    expect: "headless-service: createService my-etcd",
  },
  {
    name: "repairs a Service that was made from another draft",
    given: cluster({
      with: {
        clientService: born<Service>({
          ...cluster().clientService!,
          metadata: { ...cluster().clientService!.metadata, annotations: {} },
        }),
      },
    }),
    expect: "client-service: replaceService my-etcd-client",
  },
  {
    name: "touches nothing without quorum",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"] }),
    expect: "wait: await-quorum",
  },
  {
    name: "touches nothing without quorum, whatever replicas says",
    given: cluster({ down: ["my-etcd-0", "my-etcd-2"], spec: { replicas: 5 } }),
    expect: "wait: await-quorum",
  },
  { name: "refuses to scale, aloud", given: cluster({ spec: { replicas: 5 } }), expect: "wait: refuse-scaling" },
  { name: "refuses to upgrade, aloud", given: cluster({ spec: { version: "3.7.3" } }), expect: "wait: refuse-upgrade" },
  { name: "waits for a sick member", given: cluster({ down: ["my-etcd-1"] }), expect: "wait: await-health" },
];

for (const { name, given, expect: wanted } of cases) {
  test(`cluster plan: ${name}`, () => expect(said(planCluster(given))).toBe(wanted));
}

test("cluster plan: every rule decides at least one of the cases above", () => {
  const deciding = new Set(
    cases.map(({ given }) => planCluster(given)).flatMap((plan) => (plan.next === "settled" ? [] : [plan.rule])),
  );
  // `deleting` decides by settling, which leaves no name.
  expect(CLUSTER_RULES.map(({ name }) => name).filter((name) => !deciding.has(name) && name !== "deleting")).toEqual(
    [],
  );
});

test("cluster plan: a bootstrap from nothing takes the same steps in the same order every time", () => {
  expect(planCluster(cluster({ stage: "new" }))).toEqual(planCluster(cluster({ stage: "new" })));
});

const draft = { apiVersion: "v1", kind: "Service", metadata: { name: "my-etcd" } } as const;
const recorded = cluster({ stage: "recorded" });
const newPeerStep: ClusterStep = planCluster(
  cluster({ stage: "recorded", with: { headlessService: starting.headlessService } }),
) as never;
const peerStep = (newPeerStep as unknown as { step: ClusterStep }).step;

const forbidden: { name: string; guard: string; given: ClusterSnapshot; step: ClusterStep }[] = [
  {
    name: "anything before the identity is on record",
    guard: "identity-first",
    given: cluster({ stage: "new" }),
    step: { do: "createService", service: draft },
  },
  { name: "a second identity", guard: "identity-first", given: recorded, step: { do: "recordIdentity", identity } },
  { name: "bootstrapping a member that has joined", guard: "bootstrap-once", given: cluster(), step: peerStep },
  {
    name: "bootstrapping a member outside the frozen list",
    guard: "bootstrap-once",
    given: recorded,
    step: {
      do: "createPeer",
      peer: { ...(peerStep as never as { peer: typeof draft }).peer, metadata: { name: "my-etcd-7" } } as never,
    },
  },
  {
    name: "recording a member as joined that has not answered",
    guard: "joined-is-seen",
    given: starting,
    step: { do: "recordJoined", names: ["my-etcd-0"] },
  },
  {
    name: "changing what another owner manages",
    guard: "own-only",
    given: cluster(),
    step: { do: "replaceService", live: foreignService, service: draft },
  },
];

for (const { name, guard, given, step } of forbidden) {
  test(`cluster guards: ${guard} forbids ${name}`, () => {
    expect(CLUSTER_GUARDS.filter((each) => each.forbids(given, step) !== undefined).map((each) => each.name)).toContain(
      guard,
    );
  });
}
