import { describe, expect, test } from "vitest";
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

describe("await-network-policy: no member is made", () => {
  const wanted = cluster({ spec: { networkPolicy: { enabled: true } } });
  const made: NetworkPolicy = born(networkPolicy(wanted));
  const [members, ...others] = made.spec?.ingress ?? [];
  const holding = (spec: Partial<NetworkPolicy["spec"]>): NetworkPolicy => ({
    ...made,
    spec: { ...made.spec, ...spec } as NonNullable<NetworkPolicy["spec"]>,
  });
  const everybody = { from: [{ podSelector: {} }] };
  const lacks = "NetworkPolicy my-etcd lacks what spec.networkPolicy asks for, and has yet to be put right";
  const cases: { name: string; live: NetworkPolicy | undefined; why?: string }[] = [
    { name: "before it is there", live: undefined, why: "NetworkPolicy my-etcd is not there, and has yet to be made" },
    { name: "behind one of another wish", live: otherwise(made, { ours: true }), why: lacks },
    {
      name: "behind somebody else's",
      live: { ...made, metadata: { ...made.metadata, ownerReferences: [] } },
      why: "NetworkPolicy my-etcd exists already and is not this cluster's: nobody manages it; delete it",
    },
    { name: "behind one that is about other pods", live: holding({ podSelector: {} }), why: lacks },
    { name: "behind one that is about what goes out", live: holding({ policyTypes: ["Egress"] }), why: lacks },
    { name: "behind one that shuts somebody out", live: holding({ ingress: others }), why: lacks },
    {
      name: "behind one that shuts somebody out of a port",
      live: holding({
        ingress: [{ ...members, ports: members?.ports?.slice(1) } as typeof members & object, ...others],
      }),
      why: lacks,
    },
    {
      name: "behind one that shuts the operator out",
      live: holding({ ingress: [members!, { ...others[0], from: others[0]?.from?.slice(1) as never }, others[1]!] }),
      why: lacks,
    },
    { name: "behind one that lets everybody in", live: holding({ ingress: [{}] }), why: lacks },
    { name: "behind one that says nothing", live: { ...made, spec: undefined } as never, why: lacks },
    { name: "until it is as it should be", live: made },
    {
      name: "until others have added to it as they always do",
      live: holding({ policyTypes: ["Ingress", "Egress"], ingress: [everybody, members!, ...others] }),
    },
    {
      name: "until others have added to what it says, too",
      live: holding({ ingress: [{ ...members, from: [...(members?.from ?? []), everybody.from[0]!] }, ...others] }),
    },
  ];
  test.each(cases)("$name", ({ live, why }) => {
    const rule = CLUSTER_RULES.find(({ name }) => name === "await-network-policy")!;
    const told = rule.decide({ ...wanted, peers: [], networkPolicy: live });
    const because = `no member is made before a NetworkPolicy says who may reach it: ${why}`;
    const waits = { next: "wait", rule: "await-network-policy", because, recheckAfterMs: 5_000, warn: true };
    expect(told).toEqual(why === undefined ? undefined : waits);
  });

  test("of what is refused, by the name of its field", () => {
    const clients = [{ podSelector: { matchlabels: {} } }, { ipBlock: { cidr: "here" } }] as never;
    const refused = cluster({ spec: { networkPolicy: { enabled: true, clients } } });
    const rule = CLUSTER_RULES.find(({ name }) => name === "await-network-policy")!;
    const why =
      "spec.networkPolicy.clients[0].podSelector.matchlabels: nobody knows this field; it must be matchLabels or matchExpressions; spec.networkPolicy.clients[1].ipBlock.cidr: it is here; it must be a CIDR, such as 192.0.2.0/24 or 2001:db8::/64";
    for (const live of [undefined, made])
      expect(rule.decide({ ...refused, peers: [], networkPolicy: live })).toMatchObject({
        next: "wait",
        because: `no member is made before a NetworkPolicy says who may reach it: ${why}`,
      });
  });

  test("of what is refused in one field alone, whatever is there", () => {
    const clients = [{ ipBlock: { cidr: "here" } }];
    const refused = cluster({ spec: { networkPolicy: { enabled: true, clients } } });
    const live: NetworkPolicy = born(networkPolicy(refused));
    expect(said("await-network-policy", { ...refused, peers: [], networkPolicy: live })).toBe("wait");
  });

  test("where one is asked for, and who is there goes on", () => {
    expect(said("await-network-policy", { ...wanted, networkPolicy: undefined })).toBe("nothing");
    expect(said("await-network-policy", { ...settled, peers: [], networkPolicy: undefined })).toBe("nothing");
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

test("an admission that adds to NetworkPolicies keeps no cluster from its first member", () => {
  const given = cluster({
    stage: "recorded",
    spec: { networkPolicy: { enabled: true } },
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
