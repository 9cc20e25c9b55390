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
  ["without an identity", {}, "new"],
  ["that no member has joined", joined([false, false, false]), "underWay"],
  ["that a minority has joined", joined([true, false, false]), "underWay"],
  ["that a majority has joined", joined([true, true, false]), "finishing"],
  ["with spec.replicas 0", joined([]), "underWay"],
  ["that is ready", ready("True", 2), "settled"],
  ["that is not ready", ready("False", 2), "finishing"],
  ["that was ready before an edit", ready("True", 1), "finishing"],
] as const)("stage: a cluster %s", (_, status, stage) => {
  expect(clusterStage({ metadata: { generation: 2 }, status } as unknown as EtcdCluster)).toBe(stage);
});

test("stage: a cluster without a generation", () => {
  expect(clusterStage({ metadata: {}, status: ready("True", 0) } as unknown as EtcdCluster)).toBe("settled");
});

test("stage: a missing cluster", () => {
  expect(clusterStage(undefined)).toBe("settled");
});
