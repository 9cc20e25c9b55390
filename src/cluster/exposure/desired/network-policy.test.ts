import { describe, expect, test } from "vitest";
import { born, cluster } from "#kit/snapshots/cluster.ts";
import { admitting, RESTRICTED } from "#kit/snapshots/cluster-network.ts";
import type { NetworkPolicy } from "#kube/kinds.ts";
import { isPolicyWanted, networkPolicy, policyDiffers } from "./network-policy.ts";

const MEMBERS = {
  podSelector: {
    matchLabels: {
      "app.kubernetes.io/name": "etcd",
      "etcd.improbable.io/cluster-name": "my-etcd",
      "app.kubernetes.io/component": "member",
    },
  },
};
const OPERATOR = {
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "etcd-operator-system" } },
  podSelector: { matchLabels: { "app.kubernetes.io/name": "etcd-cluster-operator" } },
};
const AGENTS = {
  podSelector: {
    matchLabels: { "app.kubernetes.io/managed-by": "etcd-cluster-operator" },
    matchExpressions: [{ key: "etcd.improbable.io/backup-name", operator: "Exists" }],
  },
};

function asking(wish = RESTRICTED) {
  return cluster({ spec: { networkPolicy: wish } });
}

function letIn(wish = RESTRICTED) {
  const { spec } = networkPolicy(asking(wish));
  return Object.fromEntries(
    (spec?.ingress ?? []).map(({ from, ports }) => [ports?.map(({ port }) => port).join(" "), from]),
  );
}

test("a NetworkPolicy is wanted only when spec.networkPolicy.enabled is true", () => {
  expect([cluster(), asking({ ...RESTRICTED, enabled: false }), asking()].map(isPolicyWanted)).toEqual([
    false,
    false,
    true,
  ]);
});

test("a NetworkPolicy selects the members of its cluster and limits only ingress", () => {
  const { metadata, spec } = networkPolicy(asking());
  expect(metadata).toMatchObject({ namespace: "foo", name: "my-etcd", ownerReferences: [{ kind: "EtcdCluster" }] });
  expect(spec?.podSelector).toEqual(MEMBERS.podSelector);
  expect(spec?.policyTypes).toEqual(["Ingress"]);
  expect(spec).not.toHaveProperty("egress");
});

describe("a NetworkPolicy allows", () => {
  test("members, the operator, backup agents and, by default, clients in the namespace", () => {
    expect(letIn()).toEqual({
      "2380 2379": [MEMBERS],
      "2379": [OPERATOR, AGENTS, { podSelector: {} }],
      "2381": [OPERATOR],
    });
  });

  test("no clients or metrics peers with policy Listed and no list", () => {
    const { clients, metrics } = RESTRICTED;
    const listed = { policy: "Listed" as const };
    expect(letIn({ enabled: true, clients: listed, metrics: listed })).toEqual(letIn(admitting([])));
    expect(letIn({ enabled: true, clients: { policy: "Namespace" }, metrics })).toEqual(letIn());
    expect(letIn({ enabled: true, clients, metrics: { policy: "Namespace" } })["2381"]).toEqual([
      OPERATOR,
      { podSelector: {} },
    ]);
  });

  test("no clients or metrics peers when the spec lacks their policies", () => {
    expect(letIn({ enabled: true } as typeof RESTRICTED)).toEqual(letIn(admitting([])));
  });

  test("no clients or metrics peers with empty lists", () => {
    expect(letIn(admitting([]))).toEqual({
      "2380 2379": [MEMBERS],
      "2379": [OPERATOR, AGENTS],
      "2381": [OPERATOR],
    });
  });

  test("listed clients at the client port and listed metrics peers at the metrics port", () => {
    const app = { podSelector: { matchLabels: { app: "orders" } } };
    const monitoring = { namespaceSelector: { matchLabels: { team: "monitoring" } } };
    expect(letIn(admitting([app], [monitoring]))).toEqual({
      "2380 2379": [MEMBERS],
      "2379": [OPERATOR, AGENTS, app],
      "2381": [OPERATOR, monitoring],
    });
  });

  test("peers without the empty fields that the API server drops", () => {
    const wordy = [
      { namespaceSelector: { matchLabels: {}, matchExpressions: [] }, podSelector: { matchLabels: { app: "a" } } },
      { podSelector: { matchExpressions: [{ key: "a", operator: "Exists", values: [] }], matchLabels: {} } },
      { podSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b", ""] }] } },
      { ipBlock: { cidr: "192.0.2.0/24", except: [] } },
      { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.1/32"] } },
    ];
    const kept = [
      { namespaceSelector: {}, podSelector: { matchLabels: { app: "a" } } },
      { podSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
      { podSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b", ""] }] } },
      { ipBlock: { cidr: "192.0.2.0/24" } },
      { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.1/32"] } },
    ];
    const all = letIn(admitting(wordy, wordy));
    expect(all["2379"]).toStrictEqual([OPERATOR, AGENTS, ...kept]);
    expect(all["2381"]).toStrictEqual([OPERATOR, ...kept]);
  });

  test("only TCP", () => {
    const ports = (networkPolicy(asking()).spec?.ingress ?? []).flatMap((each) => each.ports ?? []);
    expect(ports.map(({ protocol }) => protocol)).toEqual(["TCP", "TCP", "TCP", "TCP"]);
  });
});

test("a NetworkPolicy differs when the spec has changed or another client edited it", () => {
  const wanted = networkPolicy(asking());
  const live: NetworkPolicy = born(wanted);
  expect(policyDiffers(live, wanted)).toBe(false);
  expect(policyDiffers(live, networkPolicy(asking(admitting([]))))).toBe(true);
  expect(policyDiffers({ ...live, spec: { ...live.spec!, ingress: [{}] } }, wanted)).toBe(true);
  const { annotations: _, ...metadata } = live.metadata;
  expect(policyDiffers({ ...live, metadata }, wanted)).toBe(true);
});
