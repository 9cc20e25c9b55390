import { expect, test } from "vitest";
import type { KubeObject } from "#kube/kinds.ts";
import { isNewsOfReplicaSet } from "#peer/wakes.ts";

const replicaSet = (replicas: number, status: object | undefined) =>
  ({ metadata: { name: "my-etcd-0" }, spec: { replicas }, status }) as unknown as KubeObject;
const failing = { observedGeneration: 1, conditions: [{ type: "ReplicaFailure", status: "True" }] };

test.each([
  ["how many pods are ready", replicaSet(1, { observedGeneration: 1, readyReplicas: 1 }), false],
  ["how many there are to be", replicaSet(0, { observedGeneration: 1 }), true],
  ["that its controller has seen it", replicaSet(1, { observedGeneration: 2 }), true],
  ["that it makes no pod", replicaSet(1, failing), true],
  ["that nothing is known of it", replicaSet(1, undefined), true],
])("wakes: of a ReplicaSet, %s", (_, object, expected) => {
  expect(isNewsOfReplicaSet({ object, previous: replicaSet(1, { observedGeneration: 1 }) })).toBe(expected);
});
