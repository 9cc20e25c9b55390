import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster } from "#kit/cluster.ts";

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
  readonly before?: readonly [status: "True" | "False", reason: string, observedGeneration: number];
}

/** A paused cluster, all well, in its seventh generation. */
function paused({ snapshot = cluster(), spec = {}, isByAnnotation = false, before }: Given): ClusterSnapshot {
  const { cluster: live } = snapshot;
  const [status, reason, observedGeneration] = before ?? ["True", "AllMembersHealthy", GENERATION - 1];
  const told = { type: "Ready", status, reason, observedGeneration, message: "", lastTransitionTime: "" } as const;
  const other = { ...told, type: "Available", status: "True", observedGeneration: GENERATION } as const;
  const annotations = { ...live.metadata.annotations, ...(isByAnnotation ? { [PAUSED_ANNOTATION]: "true" } : {}) };
  return {
    ...snapshot,
    cluster: {
      ...live,
      metadata: { ...live.metadata, annotations, generation: GENERATION },
      spec: { ...live.spec, ...spec, paused: !isByAnnotation } as EtcdClusterSpec,
      status: { ...live.status, conditions: [other, told] },
    },
  };
}

function readyOf(snapshot: ClusterSnapshot): readonly [string | undefined, string | undefined] {
  const { conditions } = clusterStatus(snapshot, planCluster(snapshot));
  const told = conditions?.find(({ type }) => type === "Ready");
  expect(told?.observedGeneration).toBe(GENERATION);
  return [`${told?.status} ${told?.reason}`, told?.message];
}

const WELL = ["True AllMembersHealthy", "3 of 3 members are healthy voters"] as const;
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
    name: "what is more urgent is told",
    given: { spec: POLICY, snapshot: cluster({ down: ["my-etcd-2"] }) },
    says: ["False MembersUnhealthy", "my-etcd-2"],
  },
];

test.each(cases)("in a pause: $name", ({ given, says: [is, words] }) => {
  expect(readyOf(paused(given))).toEqual([is, expect.stringContaining(words)]);
});
