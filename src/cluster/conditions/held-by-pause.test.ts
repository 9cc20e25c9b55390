import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster, withBudget } from "#kit/cluster.ts";
import { NEWER, ON_DELETE, saying, wanting, withTurn } from "#kit/cluster-rolling.ts";
import type { Condition } from "#runtime/conditions.ts";

const GENERATION = 7;
const POLICY = { networkPolicy: { enabled: true, clients: [] } };
const BY_SPEC = "nothing is changed while spec.paused is true; not done meanwhile: ";
const BY_ANNOTATION = `nothing is changed while the annotation ${PAUSED_ANNOTATION} is "true"; not done meanwhile: `;
const MAKES_POLICY = "network-policy: NetworkPolicy my-etcd says who may reach the members";

interface Given {
  readonly snapshot?: ClusterSnapshot;
  readonly spec?: object;
  /** By an annotation, and not by its spec. */
  readonly isByAnnotation?: boolean;
  /** What Ready said last, and of which generation. */
  readonly before?: readonly [status: "True" | "False" | "Unknown", reason: string, observedGeneration: number];
  /** The same of Paused. */
  readonly pausedBefore?: readonly [status: "True" | "False", reason: string, observedGeneration: number];
  /** The same of UpToDate. */
  readonly upToDateBefore?: readonly [status: "True" | "False", reason: string, observedGeneration: number];
}

/** A paused cluster, all well, in its seventh generation. */
function paused({ snapshot = cluster(), spec = {}, isByAnnotation = false, ...given }: Given): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { before = ["True", "AllMembersHealthy", GENERATION - 1], pausedBefore, upToDateBefore } = given;
  const told = [conditionOf("Ready", before), conditionOf("Available", ["True", "", GENERATION])];
  if (pausedBefore !== undefined) told.push(conditionOf("Paused", pausedBefore));
  if (upToDateBefore !== undefined) told.push(conditionOf("UpToDate", upToDateBefore));
  const annotations = { ...live.metadata.annotations, ...(isByAnnotation ? { [PAUSED_ANNOTATION]: "true" } : {}) };
  return {
    ...snapshot,
    cluster: {
      ...live,
      metadata: { ...live.metadata, annotations, generation: GENERATION },
      spec: { ...live.spec, ...spec, paused: !isByAnnotation } as EtcdClusterSpec,
      status: { ...live.status, conditions: told },
    },
  };
}

function conditionOf(type: string, [status, reason, observedGeneration]: NonNullable<Given["before"]>): Condition {
  return { type, status, reason, observedGeneration, message: "", lastTransitionTime: "" };
}

function readyOf(snapshot: ClusterSnapshot): readonly [string | undefined, string | undefined] {
  const { conditions } = clusterStatus(snapshot, planCluster(snapshot));
  const told = conditions?.find(({ type }) => type === "Ready");
  expect(told?.observedGeneration).toBe(GENERATION);
  return [`${told?.status} ${told?.reason}`, told?.message];
}

const WELL = ["True AllMembersHealthy", "3 of 3 members are healthy voters"] as const;
const allTold = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(
  (given, name) => withTurn(given, name),
  wanting(NEWER, { spec: ON_DELETE }),
);
const noBudget: ClusterSnapshot = { ...cluster(), budget: undefined };
const MAKES_BUDGET = "disruption-budget: PodDisruptionBudget my-etcd keeps 2 members available";

const cases: { readonly name: string; readonly given: Given; readonly says: readonly [string, string] }[] = [
  { name: "nothing waits", given: {}, says: WELL },
  { name: "an edit waits", given: { spec: POLICY }, says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`] },
  {
    name: "an edit waits, by the annotation",
    given: { spec: POLICY, isByAnnotation: true },
    says: ["False Paused", `${BY_ANNOTATION}${MAKES_POLICY}`],
  },
  {
    name: "it waits still",
    given: { spec: POLICY, before: ["False", "Paused", GENERATION] },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "it waits, and a member was not well in between",
    given: { spec: POLICY, before: ["False", "MembersUnhealthy", GENERATION] },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  { name: "it was taken back", given: { before: ["False", "Paused", GENERATION] }, says: WELL },
  {
    name: "an edit waits that asks for what no member could run",
    given: { spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } },
    says: ["False Paused", `${BY_SPEC}spec.etcd.extraArgs`],
  },
  {
    name: "something has come to differ since this spec was carried out",
    given: { snapshot: noBudget, before: ["True", "AllMembersHealthy", GENERATION] },
    says: WELL,
  },
  {
    name: "something differs since before the edit",
    given: { snapshot: noBudget },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "something has come to differ, and a member was not well in between",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["True", "NoEditWaits", GENERATION],
    },
    says: WELL,
  },
  {
    name: "something has come to differ, and no look came to its end in between",
    given: {
      snapshot: noBudget,
      before: ["Unknown", "InternalError", GENERATION],
      pausedBefore: ["True", "NoEditWaits", GENERATION],
    },
    says: WELL,
  },
  {
    name: "something differs, and nobody has seen this spec carried out",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["True", "Paused", GENERATION],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "an edit waits, and none did before it",
    given: {
      spec: POLICY,
      before: ["False", "MembersUnhealthy", GENERATION - 1],
      pausedBefore: ["True", "NoEditWaits", GENERATION - 1],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "what was so in a pause that is over says nothing",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["False", "NoEditWaits", GENERATION],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "an edit waits by which people are to restart members",
    given: { snapshot: wanting(NEWER), spec: ON_DELETE },
    says: ["False Paused", `${BY_SPEC}give-turn: the next pod of my-etcd-2 gets etcd 3.6.17 instead of 3.6.16`],
  },
  {
    name: "it waits for somebody to catch up besides",
    given: { snapshot: saying(wanting(NEWER), "my-etcd-1", { raftAppliedIndex: -2_000 }), spec: ON_DELETE },
    says: ["False Paused", `${BY_SPEC}my-etcd-0, my-etcd-1, my-etcd-2 have yet to be given what the spec asks for`],
  },
  {
    name: "members whom people restart have come to differ since this spec was carried out",
    given: { snapshot: wanting(NEWER), spec: ON_DELETE, before: ["True", "AllMembersHealthy", GENERATION] },
    says: WELL,
  },
  {
    name: "an operator of before has called it Ready while they had yet to be given what an edit asks for",
    given: {
      snapshot: wanting(NEWER),
      spec: ON_DELETE,
      before: ["True", "AllMembersHealthy", GENERATION],
      pausedBefore: ["True", "Paused", GENERATION],
      upToDateBefore: ["False", "Paused", GENERATION],
    },
    says: ["False Paused", `${BY_SPEC}give-turn: the next pod of my-etcd-2 gets etcd 3.6.17 instead of 3.6.16`],
  },
  {
    name: "not so of people who had yet to restart members",
    given: {
      snapshot: wanting(NEWER),
      spec: ON_DELETE,
      before: ["True", "AllMembersHealthy", GENERATION],
      upToDateBefore: ["False", "WaitsForDeletion", GENERATION],
    },
    says: WELL,
  },
  {
    name: "and what is told since then counts",
    given: {
      snapshot: wanting(NEWER),
      spec: ON_DELETE,
      before: ["True", "AllMembersHealthy", GENERATION],
      pausedBefore: ["True", "NoEditWaits", GENERATION],
      upToDateBefore: ["False", "Paused", GENERATION],
    },
    says: WELL,
  },
  {
    name: "only people have yet to restart members",
    given: { snapshot: allTold, spec: ON_DELETE },
    says: ["True AllMembersHealthy", "get what the spec asks for when somebody deletes their pods"],
  },
  {
    name: "what is more urgent is told",
    given: { spec: POLICY, snapshot: cluster({ down: ["my-etcd-2"] }) },
    says: ["False MembersUnhealthy", "my-etcd-2"],
  },
];

test.each(cases)("in a pause: $name", ({ given, says: [is, words] }) => {
  expect(readyOf(paused(given))).toEqual([is, expect.stringContaining(words)]);
});

/** What is told look by look, each of which knows what was told by the one before. By an annotation the generation stays. */
function told(...looks: readonly ClusterSnapshot[]): readonly string[] {
  let status = looks[0]?.cluster.status;
  return looks.map((look) => {
    const given = { ...look, cluster: { ...look.cluster, status: { ...look.cluster.status, ...status } } };
    status = clusterStatus(given, planCluster(given));
    const reason = (type: string) => status?.conditions?.find((each) => each.type === type)?.reason;
    return `${reason("Ready")} ${reason("Paused")}`;
  });
}

const of = (snapshot: ClusterSnapshot, generation = GENERATION): ClusterSnapshot => ({
  ...snapshot,
  cluster: { ...snapshot.cluster, metadata: { ...snapshot.cluster.metadata, generation } },
});
const [PAUSING, DOWN] = [{ [PAUSED_ANNOTATION]: "true" }, ["my-etcd-2"]];
const well = of(cluster({ annotations: PAUSING }));
const sick = of(cluster({ annotations: PAUSING, down: DOWN }));
/** Something has come to differ. */
const differing = { ...well, budget: undefined };
const edited = of(cluster({ annotations: PAUSING, spec: POLICY }), GENERATION + 1);
const editedAndSick = of(cluster({ annotations: PAUSING, spec: POLICY, down: DOWN }), GENERATION + 1);
const acting = of(withBudget(cluster()));

test.each([
  [
    "it is Ready again after a member was not well",
    [acting, well, differing, { ...sick, budget: undefined }, { ...sick, budget: undefined }, differing, well],
    [
      "AllMembersHealthy undefined",
      "AllMembersHealthy NoEditWaits",
      "AllMembersHealthy NoEditWaits",
      "MembersUnhealthy NoEditWaits",
      "MembersUnhealthy NoEditWaits",
      "AllMembersHealthy NoEditWaits",
      "AllMembersHealthy NoEditWaits",
    ],
  ],
  [
    "an edit is not, whatever was so before it and in between, until it is taken back",
    [acting, well, sick, edited, editedAndSick, editedAndSick, edited, of(well, GENERATION + 2)],
    [
      "AllMembersHealthy undefined",
      "AllMembersHealthy NoEditWaits",
      "MembersUnhealthy NoEditWaits",
      "Paused Paused",
      "MembersUnhealthy Paused",
      "MembersUnhealthy Paused",
      "Paused Paused",
      "AllMembersHealthy NoEditWaits",
    ],
  ],
  [
    "nor is one that was made while a member was not well",
    [well, editedAndSick, edited],
    ["AllMembersHealthy NoEditWaits", "MembersUnhealthy Paused", "Paused Paused"],
  ],
  [
    "what differs since before anybody was well is told, and once it is put right all is well",
    [sick, differing, well, differing],
    ["MembersUnhealthy Paused", "Paused Paused", "AllMembersHealthy NoEditWaits", "AllMembersHealthy NoEditWaits"],
  ],
  [
    "after a pause nothing of it counts",
    [well, of(cluster({ down: DOWN })), differing],
    ["AllMembersHealthy NoEditWaits", "MembersUnhealthy NotPaused", "Paused Paused"],
  ],
] as const)("in a pause, look by look: %s", (_, looks, says) => {
  expect(told(...looks)).toEqual(says);
});
