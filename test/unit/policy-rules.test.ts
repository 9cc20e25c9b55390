import { expect, test } from "vitest";
import { policyRules, type World } from "#kit/policy-rules.ts";
import type { NetworkPolicy } from "#kube/kinds.ts";

// By these rules the effect of NetworkPolicies is shown on the local Kubernetes.

const pod = (namespace: string, name: string, address: string, labels: Record<string, string> = {}) => ({
  namespace,
  name,
  address,
  labels,
});
const world: World = {
  pods: [
    pod("shop", "etcd-0", "10.0.0.1", { app: "etcd" }),
    pod("shop", "orders", "10.0.0.2", { app: "orders" }),
    pod("shop", "stranger", "10.0.0.3"),
    pod("metrics", "prometheus", "10.0.0.4", { app: "prometheus" }),
    pod("metrics", "etcd-too", "10.0.0.5", { app: "etcd" }),
  ],
  namespaces: new Map([
    ["shop", { name: "shop" }],
    ["metrics", { name: "metrics" }],
  ]),
};

function policy(ingress: object[], more: object = {}): NetworkPolicy {
  const spec = { podSelector: { matchLabels: { app: "etcd" } }, policyTypes: ["Ingress"], ingress, ...more };
  return { metadata: { namespace: "shop", name: "its" }, spec } as unknown as NetworkPolicy;
}

/** What is let in to the only pod that is protected. */
function letIn(...policies: readonly NetworkPolicy[]): readonly string[] {
  const rules = policyRules("its", policies, world);
  expect(rules.match(/jump/g)).toHaveLength(1);
  expect(rules).toContain("ip daddr 10.0.0.1 jump to-0");
  const [, inside = ""] = /chain to-0 \{\n([^}]*(?:\{[^}]*\}[^}]*)*?) {2}\}/.exec(rules) ?? [];
  return inside
    .trim()
    .split("\n")
    .map((each) => each.trim());
}

const PORTS = [{ protocol: "TCP", port: 2379 }, { port: 2380 }];
const expression = (operator: string, values?: string[]) => [
  { from: [{ podSelector: { matchExpressions: [{ key: "app", operator, ...(values && { values }) }] } }] },
];

test.each<[string, object[], string[]]>([
  ["nobody, without a rule", [], []],
  ["everybody, by a rule without words", [{}], ["accept"]],
  ["everybody to some ports", [{ ports: PORTS }], ["tcp dport { 2379, 2380 } accept"]],
  ["pods of its own namespace", [{ from: [{ podSelector: {} }] }], ["ip saddr { 10.0.0.1, 10.0.0.2, 10.0.0.3 } accept"]],
  ["pods with a label", [{ from: [{ podSelector: { matchLabels: { app: "orders" } } }], ports: PORTS }], ["ip saddr { 10.0.0.2 } tcp dport { 2379, 2380 } accept"]],
  ["all pods of another namespace", [{ from: [{ namespaceSelector: { matchLabels: { name: "metrics" } } }] }], ["ip saddr { 10.0.0.4, 10.0.0.5 } accept"]],
  ["pods with a label of another namespace", [{ from: [{ namespaceSelector: { matchLabels: { name: "metrics" } }, podSelector: { matchLabels: { app: "etcd" } } }] }], ["ip saddr { 10.0.0.5 } accept"]],
  ["either of two", [{ from: [{ podSelector: { matchLabels: { app: "orders" } } }, { namespaceSelector: { matchLabels: { name: "metrics" } } }] }], ["ip saddr { 10.0.0.2, 10.0.0.4, 10.0.0.5 } accept"]],
  ["nobody, by a selector of whom there is none", [{ from: [{ podSelector: { matchLabels: { app: "none" } } }] }], []],
  ["addresses, but for some", [{ from: [{ ipBlock: { cidr: "10.1.0.0/16", except: ["10.1.2.0/24"] } }, { ipBlock: { cidr: "10.2.0.0/16" } }] }], ["ip saddr 10.1.0.0/16 ip saddr != { 10.1.2.0/24 } accept", "ip saddr 10.2.0.0/16 accept"]],
  ["by In", expression("In", ["orders", "etcd"]), ["ip saddr { 10.0.0.1, 10.0.0.2 } accept"]],
  ["by NotIn", expression("NotIn", ["orders"]), ["ip saddr { 10.0.0.1, 10.0.0.3 } accept"]],
  ["by Exists", expression("Exists"), ["ip saddr { 10.0.0.1, 10.0.0.2 } accept"]],
  ["by DoesNotExist", expression("DoesNotExist"), ["ip saddr { 10.0.0.3 } accept"]],
])("a NetworkPolicy lets in %s", (_, ingress, expected) => {
  expect(letIn(policy(ingress))).toEqual([...expected, "counter drop"]);
}); // biome-ignore format: a table

test("policies add up", () => {
  expect(letIn(policy([{ ports: PORTS }]), policy([{}]), policy([]))).toEqual([
    "tcp dport { 2379, 2380 } accept",
    "accept",
    "counter drop",
  ]);
});

test("who is selected by none gets everything", () => {
  expect(policyRules("its", [policy([], { podSelector: { matchLabels: { app: "none" } } })], world)).not.toContain(
    "jump",
  );
});

test.each<[string, NetworkPolicy]>([
  ["what goes out", policy([{}], { policyTypes: ["Ingress", "Egress"] })],
  ["names of ports", policy([{ ports: [{ port: "http" }] }])],
  ["ranges of ports", policy([{ ports: [{ port: 1, endPort: 2 }] }])],
  ["another protocol", policy([{ ports: [{ port: 1, protocol: "UDP" }] }])],
])("%s is not known, and nothing is enforced in silence", (_, given) => {
  expect(() => policyRules("its", [given], world)).toThrow("known here");
});
