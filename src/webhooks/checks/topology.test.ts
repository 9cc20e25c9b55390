import { describe, expect, test } from "vitest";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/cluster.ts";
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
  "spec.podTemplate.spec lets members run in two zones alone, a and b: with one of the two the quorum is lost; use three zones";

describe("two zones are warned of", () => {
  const cases: readonly { name: string; pod: object; words?: string }[] = [
    { name: "that are named", pod: TWO },
    { name: "of which one is named twice", pod: requiring([within(ZONE, "b", "a", "b")]) },
    { name: "that are named in a term each", pod: requiring([within(ZONE, "a")], [within(ZONE, "b")]) },
    { name: "beside something else", pod: requiring([{ key: "disk", operator: "Exists" }, within(ZONE, "a", "b")]) },
    { name: "that are left of three", pod: requiring([within(ZONE, "a", "b", "c"), within(ZONE, "d", "b", "a")]) },
    {
      name: "which may be nodes",
      pod: requiring([within(HOST, "node-2", "node-1")]),
      words:
        "spec.podTemplate.spec lets members run in two nodes alone, node-1 and node-2: with one of the two the quorum is lost; use three nodes",
    },
  ];
  test.each(cases)("$name", ({ pod, words = WORDS }) => {
    expect(topologyWarnings(spec(pod), undefined)).toEqual([words]);
    expect(words.length).toBeLessThan(200);
  });
});

describe("nothing is said of", () => {
  const cases: readonly (readonly [name: string, pod: unknown])[] = [
    ["no word", undefined],
    ["three zones", requiring([within(ZONE, "a", "b", "c")])],
    ["one zone, which somebody wants", { nodeSelector: { [ZONE]: "a" } }],
    ["two zones of which one is selected", { ...TWO, nodeSelector: { [ZONE]: "a" } }],
    ["two zones or any other", requiring([within(ZONE, "a", "b")], [{ key: "disk", operator: "Exists" }])],
    ["two zones that are not to be", requiring([{ key: ZONE, operator: "NotIn", values: ["a", "b"] }])],
    ["two values of another label", requiring([within("disk", "ssd", "nvme")])],
    [
      "two zones that are preferred",
      { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } },
    ],
    ["what is of a wrong form", requiring([{ key: ZONE, operator: "In", values: "a,b" }])],
    ["what is of another wrong form", { affinity: [], nodeSelector: "a" }],
  ];
  test.each(cases)("%s", (_, pod) => expect(topologyWarnings(spec(pod), undefined)).toEqual([]));

  test("one member, which has no other to be apart from", () => {
    expect(topologyWarnings(spec(TWO, 1), undefined)).toEqual([]);
    expect(topologyWarnings(spec(TWO, 3), spec(TWO, 1))).toEqual([WORDS]);
  });

  test("an edit of something else", () => {
    expect(topologyWarnings(spec(TWO, 5), spec({ ...TWO, priorityClassName: "x" }, 3))).toEqual([]);
    expect(topologyWarnings(spec(TWO), spec({}))).toEqual([WORDS]);
  });
});
