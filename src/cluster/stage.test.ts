import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { clusterStage } from "./stage.ts";

const joined = (flags: readonly boolean[]) => ({
  identity: { initialMembers: flags.map((each, n) => ({ name: `my-etcd-${n}`, id: `a${n}`, joined: each })) },
});
const ready = (status: string, observedGeneration: number) => ({
  ...joined([true, true, true]),
  conditions: [
    { type: "Available", status: "True", observedGeneration: 2 },
    { type: "Ready", status, observedGeneration },
  ],
});

test.each([
  ["without an identity is new", {}, "new"],
  ["without joined members is underWay", joined([false, false, false]), "underWay"],
  ["with a joined minority is underWay", joined([true, false, false]), "underWay"],
  ["with a joined majority is finishing", joined([true, true, false]), "finishing"],
  ["with an identity without members is underWay", joined([]), "underWay"],
  ["that is Ready is settled", ready("True", 2), "settled"],
  ["that is not Ready is finishing", ready("False", 2), "finishing"],
  ["that was Ready before an edit is finishing", ready("True", 1), "finishing"],
] as const)("stage: a cluster %s", (_, status, stage) => {
  expect(clusterStage({ metadata: { generation: 2 }, status } as unknown as EtcdCluster)).toBe(stage);
});

test("stage: a Ready cluster without a generation is settled", () => {
  expect(clusterStage({ metadata: {}, status: ready("True", 0) } as unknown as EtcdCluster)).toBe("settled");
});

test("stage: a missing cluster is settled", () => {
  expect(clusterStage(undefined)).toBe("settled");
});
