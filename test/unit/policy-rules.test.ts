import { expect, test } from "vitest";
import { policyRules, type World } from "#kit/tables/policy-rules.ts";
import type { NetworkPolicy } from "#kube/kinds.ts";
import { operatorManifests } from "../../scripts/manifests.ts";

// The local Kubernetes enforces NetworkPolicies with these rules.

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

/** The rules of the only protected pod. */
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
  ["nothing, without a rule", [], []],
  ["everything, by an empty rule", [{}], ["accept"]],
  ["everything to some ports", [{ ports: PORTS }], ["tcp dport { 2379, 2380 } accept"]],
  ["pods of its own namespace", [{ from: [{ podSelector: {} }] }], ["ip saddr { 10.0.0.1, 10.0.0.2, 10.0.0.3 } accept"]],
  ["pods with a label", [{ from: [{ podSelector: { matchLabels: { app: "orders" } } }], ports: PORTS }], ["ip saddr { 10.0.0.2 } tcp dport { 2379, 2380 } accept"]],
  ["all pods of another namespace", [{ from: [{ namespaceSelector: { matchLabels: { name: "metrics" } } }] }], ["ip saddr { 10.0.0.4, 10.0.0.5 } accept"]],
  ["pods with a label in another namespace", [{ from: [{ namespaceSelector: { matchLabels: { name: "metrics" } }, podSelector: { matchLabels: { app: "etcd" } } }] }], ["ip saddr { 10.0.0.5 } accept"]],
  ["pods of either of two peers", [{ from: [{ podSelector: { matchLabels: { app: "orders" } } }, { namespaceSelector: { matchLabels: { name: "metrics" } } }] }], ["ip saddr { 10.0.0.2, 10.0.0.4, 10.0.0.5 } accept"]],
  ["nothing, by a selector without matching pods", [{ from: [{ podSelector: { matchLabels: { app: "none" } } }] }], []],
  ["addresses, except for some", [{ from: [{ ipBlock: { cidr: "10.1.0.0/16", except: ["10.1.2.0/24"] } }, { ipBlock: { cidr: "10.2.0.0/16" } }] }], ["ip saddr 10.1.0.0/16 ip saddr != { 10.1.2.0/24 } accept", "ip saddr 10.2.0.0/16 accept"]],
  ["pods by In", expression("In", ["orders", "etcd"]), ["ip saddr { 10.0.0.1, 10.0.0.2 } accept"]],
  ["pods by NotIn", expression("NotIn", ["orders"]), ["ip saddr { 10.0.0.1, 10.0.0.3 } accept"]],
  ["pods by Exists", expression("Exists"), ["ip saddr { 10.0.0.1, 10.0.0.2 } accept"]],
  ["pods by DoesNotExist", expression("DoesNotExist"), ["ip saddr { 10.0.0.3 } accept"]],
])("a NetworkPolicy lets in %s", (_, ingress, expected) => {
  expect(letIn(policy(ingress))).toEqual([...expected, "counter drop"]);
}); // biome-ignore format: a table

test("the rules of several policies for one pod are combined", () => {
  expect(letIn(policy([{ ports: PORTS }]), policy([{}]), policy([]))).toEqual([
    "tcp dport { 2379, 2380 } accept",
    "accept",
    "counter drop",
  ]);
});

test("a pod that no policy selects receives all traffic", () => {
  expect(policyRules("its", [policy([], { podSelector: { matchLabels: { app: "none" } } })], world)).not.toContain(
    "jump",
  );
});

test.each<[string, NetworkPolicy]>([
  ["a policy for egress", policy([{}], { policyTypes: ["Ingress", "Egress"] })],
  ["a named port", policy([{ ports: [{ port: "http" }] }])],
  ["a range of ports", policy([{ ports: [{ port: 1, endPort: 2 }] }])],
  ["a protocol other than TCP", policy([{ ports: [{ port: 1, protocol: "UDP" }] }])],
])("%s is refused instead of being ignored", (_, given) => {
  expect(() => policyRules("its", [given], world)).toThrow("supported here");
});

test("the operator's own NetworkPolicy admits traffic from anywhere to the container's ports, and no other traffic", () => {
  const manifests = operatorManifests("operator:1") as unknown as readonly (NetworkPolicy & Deployment)[];
  const [its] = manifests.filter(({ kind }) => kind === "NetworkPolicy");
  const [deployment] = manifests.filter(({ kind }) => kind === "Deployment");
  const { metadata, spec } = deployment!.spec.template;
  const { namespace = "" } = its!.metadata;
  const pods = [
    pod(namespace, "operator-0", "10.0.0.1", metadata.labels),
    pod(namespace, "another", "10.0.0.2"),
    pod("shop", "stranger", "10.0.0.3"),
  ];
  const rules = policyRules("its", [its!], { pods, namespaces: new Map([[namespace, {}]]) });
  expect(rules.match(/jump/g)).toHaveLength(1);
  expect(rules).toContain("ip daddr 10.0.0.1 jump to-0");
  const served = spec.containers.flatMap(({ ports }) => ports.map(({ containerPort }) => containerPort));
  expect(served.toSorted()).toEqual([8080, 8443, 9443]);
  const accepted = [...rules.matchAll(/tcp dport (?:\{ )?([\d, ]+?)(?: \})? accept/g)].map(([, port]) => Number(port));
  expect(accepted.toSorted()).toEqual(served.toSorted());
  expect(rules).not.toMatch(/saddr/);
  expect(its?.spec?.policyTypes).toEqual(["Ingress"]);
});

interface Deployment {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly containers: readonly { readonly ports: readonly { readonly containerPort: number }[] }[];
      };
    };
  };
}
