import { describe, expect, test } from "vitest";
import { memberLabels } from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";
import { placementOf } from "#restore/desired/placement.ts";

const LABELS = { ...memberLabels("restored", "restored-0"), team: "shop" };
const OWN = { "etcd.improbable.io/restored-from": "u" };

function placed(spec: object) {
  return placementOf(spec as NonNullable<Pod["spec"]>, LABELS, OWN);
}

function spread(labelSelector: object) {
  return {
    topologySpreadConstraints: [{ topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", labelSelector }],
  };
}

test("a restore pod has the node selection of the member's pod, and not its other fields", () => {
  const node = {
    nodeSelector: { disk: "fast" },
    tolerations: [{ key: "etcd", operator: "Exists" }],
    schedulerName: "mine",
    runtimeClassName: "kata",
    imagePullSecrets: [{ name: "pull" }],
  };
  expect(
    placed({ ...node, hostname: "restored-0", subdomain: "restored", priorityClassName: "high", volumes: [] }),
  ).toStrictEqual(node);
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } },
  };
  expect(placed({ affinity })).toStrictEqual({ affinity });
});

describe("pod selectors that match the cluster's members select the restore's pods instead:", () => {
  test.each([
    [{ matchLabels: { "etcd.improbable.io/cluster-name": "restored" } }],
    [{ matchLabels: { team: "shop" }, matchExpressions: [{ key: "team", operator: "In", values: ["shop", "x"] }] }],
    [
      {
        matchExpressions: [
          { key: "team", operator: "Exists" },
          { key: "other", operator: "DoesNotExist" },
        ],
      },
    ],
    [
      {
        matchExpressions: [
          { key: "team", operator: "NotIn", values: ["x"] },
          { key: "other", operator: "NotIn", values: ["x"] },
        ],
      },
    ],
    [{}],
  ])("%j", (selector) => expect(placed(spread(selector))).toStrictEqual(spread({ matchLabels: OWN })));
});

describe("pod selectors that do not match the cluster's members stay:", () => {
  test.each([
    [{ matchLabels: { app: "noisy" } }],
    [{ matchLabels: { team: "shop", "etcd.improbable.io/cluster-name": "another" } }],
    [{ matchExpressions: [{ key: "team", operator: "In", values: ["x"] }] }],
    [{ matchExpressions: [{ key: "other", operator: "In", values: ["shop"] }] }],
    [{ matchExpressions: [{ key: "team", operator: "NotIn", values: ["shop"] }] }],
    [{ matchExpressions: [{ key: "other", operator: "Exists" }] }],
    [{ matchExpressions: [{ key: "team", operator: "DoesNotExist" }] }],
    [{ matchExpressions: [{ key: "team", operator: "Sounds" }] }],
    [{ matchExpressions: [{ key: "team", operator: "In", values: "shop" }] }],
    [{ matchExpressions: ["team"] }],
    [{ matchExpressions: "team" }],
    [{ matchExpressions: [null] }],
    [{ matchLabels: "team" }],
  ])("%j", (selector) => expect(placed(spread(selector))).toStrictEqual(spread(selector)));
});

test("selectors in an affinity's nested terms are replaced", () => {
  const term = (labelSelector: object) => ({
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: "zone", labelSelector } },
        ],
      },
    },
  });
  expect(placed(term({ matchLabels: { team: "shop" } }))).toStrictEqual(term({ matchLabels: OWN }));
  expect(placed({ affinity: { podAntiAffinity: { x: [{ labelSelector: null, n: 1 }] } } })).toStrictEqual({
    affinity: { podAntiAffinity: { x: [{ labelSelector: null, n: 1 }] } },
  });
});
