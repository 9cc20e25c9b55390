import { expect, test } from "vitest";
import { networkPolicy } from "#cluster/desired/network-policy.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { born, cluster } from "#kit/cluster.ts";
import type { KubeObject, NetworkPolicy } from "#kube/kinds.ts";

const settled = cluster();
const objects = {
  "headless-service": "headlessService",
  "client-service": "clientService",
  "disruption-budget": "budget",
} as const;

function said(rule: string, snapshot: ClusterSnapshot): string {
  const opinion = CLUSTER_RULES.find(({ name }) => name === rule)!.decide(snapshot);
  return opinion?.next === "step" ? opinion.step.do : (opinion?.next ?? "nothing");
}

/** Made from another draft, by this cluster or by somebody else. */
function otherwise<T extends KubeObject>(live: T, given: { ours: boolean }): T {
  const { ownerReferences } = live.metadata;
  return {
    ...live,
    metadata: { ...live.metadata, annotations: {}, ownerReferences: given.ours ? ownerReferences : [] },
  } as T;
}

for (const [rule, field] of Object.entries(objects)) {
  const live = settled[field]!;
  const with_ = (object: KubeObject | undefined): ClusterSnapshot => ({ ...settled, [field]: object });
  test(`${rule}: what is as it should be is left alone`, () => expect(said(rule, settled)).toBe("nothing"));
  test(`${rule}: what is missing is made`, () => expect(said(rule, with_(undefined))).toMatch("create"));
  test(`${rule}: what is otherwise is put right`, () =>
    expect(said(rule, with_(otherwise(live, { ours: true })))).toMatch("replace"));
  test(`${rule}: what somebody else made is told, and never changed`, () =>
    expect(said(rule, with_(otherwise(live, { ours: false })))).toBe("remark"));
}

const unwanted = cluster({ spec: { disruptionBudget: "None" } });
const going = { ...unwanted.budget!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
const without: { name: string; budget: ClusterSnapshot["budget"]; says: string }[] = [
  { name: "goes", budget: unwanted.budget, says: "deleteBudget" },
  { name: "that differs goes, too", budget: otherwise(unwanted.budget!, { ours: true }), says: "deleteBudget" },
  { name: "that is going is not deleted again", budget: { ...unwanted.budget!, metadata: going }, says: "nothing" },
  { name: "of somebody else stays", budget: otherwise(unwanted.budget!, { ours: false }), says: "nothing" },
  { name: "that is not there is not made", budget: undefined, says: "nothing" },
];
for (const { name, budget, says } of without)
  test(`disruption-budget: when none is wanted, one ${name}`, () =>
    expect(said("disruption-budget", { ...unwanted, budget })).toBe(says));

test("network-policy: what somebody else made is told, and never changed", () => {
  const wanted = cluster({ spec: { networkPolicy: { enabled: true } } });
  const made: NetworkPolicy = born(networkPolicy(wanted));
  const seeing = (live: NetworkPolicy) => said("network-policy", { ...wanted, networkPolicy: live });
  expect(seeing(made)).toBe("nothing");
  expect(seeing(otherwise(made, { ours: true }))).toBe("replaceNetworkPolicy");
  expect(seeing(otherwise(made, { ours: false }))).toBe("remark");
});

test("await-network-policy: no member is made while none says who may reach it; who is there goes on", () => {
  const wanted = cluster({ spec: { networkPolicy: { enabled: true } } });
  const made: NetworkPolicy = born(networkPolicy(wanted));
  const seeing = (live: NetworkPolicy | undefined, peers = [] as ClusterSnapshot["peers"]) =>
    said("await-network-policy", { ...wanted, peers, networkPolicy: live });
  expect(seeing(undefined)).toBe("wait");
  expect(seeing(otherwise(made, { ours: true }))).toBe("wait");
  expect(seeing({ ...made, metadata: { ...made.metadata, ownerReferences: [] } })).toBe("wait");
  expect(seeing(made)).toBe("nothing");
  expect(seeing(undefined, wanted.peers)).toBe("nothing");
  expect(said("await-network-policy", { ...settled, peers: [], networkPolicy: undefined })).toBe("nothing");
  const rule = CLUSTER_RULES.find(({ name }) => name === "await-network-policy")!;
  expect(rule.decide({ ...wanted, peers: [] })).toEqual({
    next: "wait",
    rule: "await-network-policy",
    because: "no member is made before NetworkPolicy my-etcd says who may reach it",
    recheckAfterMs: 5_000,
    warn: true,
  });
});

test("a NetworkPolicy that is refused holds the members back", () => {
  const given = cluster({
    stage: "recorded",
    spec: { networkPolicy: { enabled: true } },
    with: { headlessService: settled.headlessService },
  });
  const refused = { because: "quota", forMs: 1_000, isBrief: false };
  const plan = planCluster(given, (rule) => (rule === "network-policy" ? refused : undefined));
  expect(plan).toMatchObject({ next: "wait", rule: "await-network-policy" });
  expect(plan.aside).toMatchObject([{ rule: "network-policy", is: "refused" }]);
});
