import { describe, expect, test } from "vitest";
import { networkPolicy } from "#cluster/exposure/desired/network-policy.ts";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { admitting, RESTRICTED } from "#kit/snapshots/cluster-network.ts";
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

/** The object made from another draft, with or without the cluster as owner. */
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
  test(`${rule}: leaves a correct object alone`, () => expect(said(rule, settled)).toBe("nothing"));
  test(`${rule}: creates a missing object`, () => expect(said(rule, with_(undefined))).toMatch("create"));
  test(`${rule}: corrects an outdated object`, () =>
    expect(said(rule, with_(otherwise(live, { ours: true })))).toMatch("replace"));
  test(`${rule}: reports an object with another owner and does not change it`, () =>
    expect(said(rule, with_(otherwise(live, { ours: false })))).toBe("notice"));
}

const unwanted = cluster({ spec: { disruptionBudget: { policy: "None" } } });
const going = { ...unwanted.budget!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" };
const without: { name: string; budget: ClusterSnapshot["budget"]; says: string }[] = [
  { name: "is deleted", budget: unwanted.budget, says: "deleteBudget" },
  { name: "that is outdated is deleted", budget: otherwise(unwanted.budget!, { ours: true }), says: "deleteBudget" },
  {
    name: "that is being deleted is not deleted again",
    budget: { ...unwanted.budget!, metadata: going },
    says: "nothing",
  },
  { name: "with another owner stays", budget: otherwise(unwanted.budget!, { ours: false }), says: "nothing" },
  { name: "that is missing is not created", budget: undefined, says: "nothing" },
];
for (const { name, budget, says } of without)
  test(`disruption-budget: with spec.disruptionBudget.policy None, a PodDisruptionBudget ${name}`, () =>
    expect(said("disruption-budget", { ...unwanted, budget })).toBe(says));

test("network-policy: reports a NetworkPolicy with another owner and does not change it", () => {
  const wanted = cluster({ spec: { networkPolicy: RESTRICTED } });
  const made: NetworkPolicy = born(networkPolicy(wanted));
  const seeing = (live: NetworkPolicy) => said("network-policy", { ...wanted, networkPolicy: live });
  expect(seeing(made)).toBe("nothing");
  expect(seeing(otherwise(made, { ours: true }))).toBe("replaceNetworkPolicy");
  expect(seeing(otherwise(made, { ours: false }))).toBe("notice");
});

describe("await-network-policy", () => {
  const wanted = cluster({ spec: { networkPolicy: RESTRICTED } });
  const made: NetworkPolicy = born(networkPolicy(wanted));
  const [members, ...others] = made.spec?.ingress ?? [];
  const holding = (spec: Partial<NetworkPolicy["spec"]>): NetworkPolicy => ({
    ...made,
    spec: { ...made.spec, ...spec } as NonNullable<NetworkPolicy["spec"]>,
  });
  const allPods = { from: [{ podSelector: {} }] };
  const lacks = "NetworkPolicy my-etcd does not have the rules of spec.networkPolicy yet";
  const cases: { name: string; live: NetworkPolicy | undefined; why?: string }[] = [
    { name: "waits without a NetworkPolicy", live: undefined, why: "NetworkPolicy my-etcd does not exist yet" },
    { name: "waits with an outdated NetworkPolicy", live: otherwise(made, { ours: true }), why: lacks },
    {
      name: "waits with a NetworkPolicy of another owner",
      live: { ...made, metadata: { ...made.metadata, ownerReferences: [] } },
      why: "NetworkPolicy my-etcd exists already and is not this cluster's: it has no controller; delete it",
    },
    { name: "waits with a NetworkPolicy that selects other pods", live: holding({ podSelector: {} }), why: lacks },
    {
      name: "waits with a NetworkPolicy that limits only egress",
      live: holding({ policyTypes: ["Egress"] }),
      why: lacks,
    },
    { name: "waits with a NetworkPolicy that lacks an ingress rule", live: holding({ ingress: others }), why: lacks },
    {
      name: "waits with a NetworkPolicy that lacks a port",
      live: holding({
        ingress: [{ ...members, ports: members?.ports?.slice(1) } as typeof members & object, ...others],
      }),
      why: lacks,
    },
    {
      name: "waits with a NetworkPolicy that excludes the operator",
      live: holding({ ingress: [members!, { ...others[0], from: others[0]?.from?.slice(1) as never }, others[1]!] }),
      why: lacks,
    },
    { name: "waits with a NetworkPolicy that allows all connections", live: holding({ ingress: [{}] }), why: lacks },
    { name: "waits with a NetworkPolicy without a spec", live: { ...made, spec: undefined } as never, why: lacks },
    { name: "does not wait with a correct NetworkPolicy", live: made },
    {
      name: "does not wait with a correct NetworkPolicy that has an additional policy type and rule",
      live: holding({ policyTypes: ["Ingress", "Egress"], ingress: [allPods, members!, ...others] }),
    },
    {
      name: "does not wait with a correct NetworkPolicy that allows additional peers",
      live: holding({ ingress: [{ ...members, from: [...(members?.from ?? []), allPods.from[0]!] }, ...others] }),
    },
  ];
  test.each(cases)("$name", ({ live, why }) => {
    const rule = CLUSTER_RULES.find(({ name }) => name === "await-network-policy")!;
    const told = rule.decide({ ...wanted, peers: [], networkPolicy: live });
    const because = `no member is created before a NetworkPolicy limits access to it: ${why}`;
    const waits = { next: "wait", because, recheckAfterMs: 5_000, warn: true };
    expect(told).toEqual(why === undefined ? undefined : waits);
  });

  test("waits when the spec has several errors and names each by its field", () => {
    const clients = [{ podSelector: { matchlabels: {} } }, { ipBlock: { cidr: "here" } }];
    const refused = cluster({ spec: { networkPolicy: admitting(clients) } });
    const rule = CLUSTER_RULES.find(({ name }) => name === "await-network-policy")!;
    const why =
      "spec.networkPolicy.clients.from[0].podSelector.matchlabels: this field is unknown; it must be matchLabels or matchExpressions; spec.networkPolicy.clients.from[1].ipBlock.cidr: it is here; it must be a CIDR, such as 192.0.2.0/24 or 2001:db8::/64";
    for (const live of [undefined, made])
      expect(rule.decide({ ...refused, peers: [], networkPolicy: live })).toMatchObject({
        next: "wait",
        because: `no member is created before a NetworkPolicy limits access to it: ${why}`,
      });
  });

  test("waits when the spec has an error, even with a NetworkPolicy made from that spec", () => {
    const clients = [{ ipBlock: { cidr: "here" } }];
    const refused = cluster({ spec: { networkPolicy: admitting(clients) } });
    const live: NetworkPolicy = born(networkPolicy(refused));
    expect(said("await-network-policy", { ...refused, peers: [], networkPolicy: live })).toBe("wait");
  });

  test("does not wait when members exist or no NetworkPolicy is wanted", () => {
    expect(said("await-network-policy", { ...wanted, networkPolicy: undefined })).toBe("nothing");
    expect(said("await-network-policy", { ...settled, peers: [], networkPolicy: undefined })).toBe("nothing");
  });
});

test("no member is created while the API server refuses the NetworkPolicy", () => {
  const given = cluster({
    stage: "recorded",
    spec: { networkPolicy: RESTRICTED },
    with: { headlessService: settled.headlessService },
  });
  const refused = { because: "quota", forMs: 1_000, isBrief: false };
  const plan = planCluster(given, (rule) => (rule === "network-policy" ? refused : undefined));
  expect(plan).toMatchObject({ next: "wait", rule: "await-network-policy" });
  expect(plan.reports).toMatchObject([{ rule: "network-policy", is: "refused" }]);
});

test("the first member is created although a webhook adds fields to the NetworkPolicy", () => {
  const given = cluster({
    stage: "recorded",
    spec: { networkPolicy: RESTRICTED },
    with: { headlessService: settled.headlessService },
  });
  const made: NetworkPolicy = born(networkPolicy(given));
  const added: NetworkPolicy = { ...made, spec: { ...made.spec!, egress: [{}], policyTypes: ["Ingress", "Egress"] } };
  const undone = { because: "it has no effect", forMs: 1_000, isBrief: false };
  const plan = planCluster({ ...given, networkPolicy: added }, (rule) =>
    rule === "network-policy" ? undone : undefined,
  );
  expect(plan).toMatchObject({ next: "step", rule: "bootstrap" });
});
