import { describe, expect, test } from "vitest";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { topologyWarnings } from "#webhooks/checks/topology.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";

function spec(pod: unknown, replicas = 3): EtcdClusterSpec {
  return { ...cluster().cluster.spec, replicas, podTemplate: { spec: pod } as EtcdClusterSpec["podTemplate"] };
}

function requiring(...terms: readonly object[]): object {
  const required = { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
}

function within(key: string, ...values: readonly string[]): object {
  return { key, operator: "In", values };
}

const TWO = requiring([within(ZONE, "b", "a")]);
const WORDS =
  "spec.podTemplate.spec restricts members to two zones, a and b: the loss of one of them may lose the quorum; use three zones";

describe("a required node affinity for two zones or nodes results in a warning", () => {
  const cases: readonly { name: string; pod: object; words?: string }[] = [
    { name: "when one term lists two zones", pod: TWO },
    { name: "when one term lists a zone twice", pod: requiring([within(ZONE, "b", "a", "b")]) },
    { name: "when each zone has its own term", pod: requiring([within(ZONE, "a")], [within(ZONE, "b")]) },
    {
      name: "when the term has other requirements",
      pod: requiring([{ key: "disk", operator: "Exists" }, within(ZONE, "a", "b")]),
    },
    {
      name: "when another term excludes the third zone",
      pod: requiring([within(ZONE, "a", "b", "c"), within(ZONE, "d", "b", "a")]),
    },
    {
      name: "when it lists two nodes",
      pod: requiring([within(HOST, "node-2", "node-1")]),
      words:
        "spec.podTemplate.spec restricts members to two nodes, node-1 and node-2: the loss of one of them may lose the quorum; use three nodes",
    },
  ];
  test.each(cases)("$name", ({ pod, words = WORDS }) => {
    expect(topologyWarnings(spec(pod), undefined)).toEqual([words]);
    expect(words.length).toBeLessThan(200);
  });
});

describe("no warning about zones is given for", () => {
  const cases: readonly (readonly [name: string, pod: unknown])[] = [
    ["a missing pod spec", undefined],
    ["three zones", requiring([within(ZONE, "a", "b", "c")])],
    ["one zone", { nodeSelector: { [ZONE]: "a" } }],
    ["two zones of which the node selector selects one", { ...TWO, nodeSelector: { [ZONE]: "a" } }],
    [
      "two zones or any node with another label",
      requiring([within(ZONE, "a", "b")], [{ key: "disk", operator: "Exists" }]),
    ],
    ["two excluded zones", requiring([{ key: ZONE, operator: "NotIn", values: ["a", "b"] }])],
    ["two values of another label", requiring([within("disk", "ssd", "nvme")])],
    ["two preferred zones", { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }],
    ["values of a wrong type", requiring([{ key: ZONE, operator: "In", values: "a,b" }])],
    ["an affinity of a wrong type", { affinity: [], nodeSelector: "a" }],
  ];
  test.each(cases)("%s", (_, pod) => expect(topologyWarnings(spec(pod), undefined)).toEqual([]));

  test("a single member", () => {
    expect(topologyWarnings(spec(TWO, 1), undefined)).toEqual([]);
    expect(topologyWarnings(spec(TWO, 3), spec(TWO, 1))).toEqual([WORDS]);
  });

  test("an edit of other fields, or of the number of members", () => {
    expect(topologyWarnings(spec(TWO, 5), spec({ ...TWO, priorityClassName: "x" }, 3))).toEqual([]);
    expect(topologyWarnings(spec(TWO), spec({}))).toEqual([WORDS]);
  });
});
