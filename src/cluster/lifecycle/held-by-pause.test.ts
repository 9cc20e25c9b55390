import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, withBudget } from "#kit/snapshots/cluster.ts";
import { admitting } from "#kit/snapshots/cluster-network.ts";
import { NEWER, ON_DELETE, saying, wanting, withTurns } from "#kit/snapshots/cluster-rolling.ts";
import type { Condition } from "#runtime/conditions.ts";

const GENERATION = 7;
const POLICY = { networkPolicy: admitting([]) };
const BY_SPEC = "nothing is changed while spec.paused is true; not done until then: ";
const BY_ANNOTATION = `nothing is changed while the annotation ${PAUSED_ANNOTATION} is "true"; not done until then: `;
const MAKES_POLICY = "network-policy: NetworkPolicy my-etcd limits access to the members";

interface Given {
  readonly snapshot?: ClusterSnapshot;
  readonly spec?: object;
  /** Whether the annotation pauses the cluster, not its spec. */
  readonly isByAnnotation?: boolean;
  /** The previous condition Ready. */
  readonly before?: readonly [status: "True" | "False" | "Unknown", reason: string, observedGeneration: number];
  /** The previous condition Paused. */
  readonly pausedBefore?: readonly [status: "True" | "False", reason: string, observedGeneration: number];
}

/** A healthy paused cluster with generation 7. */
function paused({ snapshot = cluster(), spec = {}, isByAnnotation = false, ...given }: Given): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const { before = ["True", "AllMembersHealthy", GENERATION - 1], pausedBefore } = given;
  const told = [conditionOf("Ready", before), conditionOf("Available", ["True", "", GENERATION])];
  if (pausedBefore !== undefined) told.push(conditionOf("Paused", pausedBefore));
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
const allPending = withTurns(wanting(NEWER, { spec: ON_DELETE }));
const noBudget: ClusterSnapshot = { ...cluster(), budget: undefined };
const MAKES_BUDGET = "disruption-budget: PodDisruptionBudget my-etcd keeps 2 members available";

const cases: { readonly name: string; readonly given: Given; readonly says: readonly [string, string] }[] = [
  { name: "Ready is True when the pause holds up nothing", given: {}, says: WELL },
  {
    name: "Ready is False when spec.paused holds up an edit",
    given: { spec: POLICY },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "Ready is False when the annotation holds up an edit",
    given: { spec: POLICY, isByAnnotation: true },
    says: ["False Paused", `${BY_ANNOTATION}${MAKES_POLICY}`],
  },
  {
    name: "Ready stays False while the edit is held up",
    given: { spec: POLICY, before: ["False", "Paused", GENERATION] },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "Ready is False for a held-up edit also after a member was unhealthy",
    given: { spec: POLICY, before: ["False", "MembersUnhealthy", GENERATION] },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "Ready is True again when the edit is reverted",
    given: { before: ["False", "Paused", GENERATION] },
    says: WELL,
  },
  {
    name: "Ready is False when an edit is held up that no member could run",
    given: { spec: { etcd: { extraArgs: { "data-dir": "/tmp" } } } },
    says: ["False Paused", `${BY_SPEC}spec.etcd.extraArgs`],
  },
  {
    name: "Ready stays True when an object differs after the spec was carried out",
    given: { snapshot: noBudget, before: ["True", "AllMembersHealthy", GENERATION] },
    says: WELL,
  },
  {
    name: "Ready is False when an object differs before the spec was carried out",
    given: { snapshot: noBudget },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "Ready is True again after a member was unhealthy, although an object differs",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["True", "NoEditWaits", GENERATION],
    },
    says: WELL,
  },
  {
    name: "Ready is True again after observations failed, although an object differs",
    given: {
      snapshot: noBudget,
      before: ["Unknown", "InternalError", GENERATION],
      pausedBefore: ["True", "NoEditWaits", GENERATION],
    },
    says: WELL,
  },
  {
    name: "Ready is False when an object differs and the spec is not known to be carried out",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["True", "Paused", GENERATION],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "Ready is False when Paused reported NoEditWaits only before the edit",
    given: {
      spec: POLICY,
      before: ["False", "MembersUnhealthy", GENERATION - 1],
      pausedBefore: ["True", "NoEditWaits", GENERATION - 1],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_POLICY}`],
  },
  {
    name: "Ready ignores the condition Paused of an earlier pause",
    given: {
      snapshot: noBudget,
      before: ["False", "MembersUnhealthy", GENERATION],
      pausedBefore: ["False", "NoEditWaits", GENERATION],
    },
    says: ["False Paused", `${BY_SPEC}${MAKES_BUDGET}`],
  },
  {
    name: "Ready names the next step of a held-up edit with strategy OnDelete",
    given: { snapshot: wanting(NEWER), spec: ON_DELETE },
    says: ["False Paused", `${BY_SPEC}update-member: the next pod of my-etcd-2 gets etcd 3.6.17 instead of 3.6.16`],
  },
  {
    name: "Ready names the members of a held-up edit while a member has to catch up",
    given: { snapshot: saying(wanting(NEWER), "my-etcd-1", { raftAppliedIndex: -2_000 }), spec: ON_DELETE },
    says: ["False Paused", `${BY_SPEC}my-etcd-0, my-etcd-1, my-etcd-2 have yet to get the new template`],
  },
  {
    name: "Ready stays True with strategy OnDelete when templates differ after the spec was carried out",
    given: { snapshot: wanting(NEWER), spec: ON_DELETE, before: ["True", "AllMembersHealthy", GENERATION] },
    says: WELL,
  },
  {
    name: "Ready is True with strategy OnDelete when only restarts are pending",
    given: { snapshot: allPending, spec: ON_DELETE },
    says: ["True AllMembersHealthy", "get what the spec asks for when their pods are deleted"],
  },
  {
    name: "Ready reports an unhealthy member rather than a held-up edit",
    given: { spec: POLICY, snapshot: cluster({ down: ["my-etcd-2"] }) },
    says: ["False MembersUnhealthy", "my-etcd-2"],
  },
];

test.each(cases)("in a pause: $name", ({ given, says: [is, words] }) => {
  expect(readyOf(paused(given))).toEqual([is, expect.stringContaining(words)]);
});

/**
 * Reasons of Ready and Paused, observation by observation, each with the previous status. The annotation keeps the
 * generation.
 */
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
/** An object has changed. */
const differing = { ...well, budget: undefined };
const edited = of(cluster({ annotations: PAUSING, spec: POLICY }), GENERATION + 1);
const editedAndSick = of(cluster({ annotations: PAUSING, spec: POLICY, down: DOWN }), GENERATION + 1);
const acting = begin(cluster()).apply(withBudget).apply(of).snapshot;

test.each([
  [
    "Ready is True again after a member was unhealthy",
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
    "a pending edit keeps Ready False until it is reverted",
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
    "an edit while a member is unhealthy keeps Ready False after the member has recovered",
    [well, editedAndSick, edited],
    ["AllMembersHealthy NoEditWaits", "MembersUnhealthy Paused", "Paused Paused"],
  ],
  [
    "a difference before the first healthy observation keeps Ready False until it is undone",
    [sick, differing, well, differing],
    ["MembersUnhealthy Paused", "Paused Paused", "AllMembersHealthy NoEditWaits", "AllMembersHealthy NoEditWaits"],
  ],
  [
    "the condition Paused of an earlier pause does not count after that pause",
    [well, of(cluster({ down: DOWN })), differing],
    ["AllMembersHealthy NoEditWaits", "MembersUnhealthy NotPaused", "Paused Paused"],
  ],
] as const)("in a pause, by observation: %s", (_, looks, says) => {
  expect(told(...looks)).toEqual(says);
});
