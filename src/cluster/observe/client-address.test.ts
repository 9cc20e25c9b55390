import { expect, test } from "vitest";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { clientAddress, isCalledReady } from "./client-address.ts";

const settled = cluster();

test("clientAddress is the cluster IP of the client Service with port 2379", () => {
  const at = (clusterIP: string | undefined) => {
    const spec = { ...settled.clientService?.spec, ...(clusterIP === undefined ? {} : { clusterIP }) };
    return clientAddress({ ...settled, clientService: { ...settled.clientService!, spec } as never });
  };
  expect([at("10.96.0.7"), at("fd00::7")]).toEqual(["10.96.0.7:2379", "[fd00::7]:2379"]);
  expect(at("None")).toBeUndefined();
  expect(clientAddress({ ...settled, clientService: undefined })).toBeUndefined();
});

test("isCalledReady only when the condition Ready is True for the current generation", () => {
  const told = (...conditions: readonly (readonly [string, string, number])[]): ClusterSnapshot => {
    const all = conditions.map(([type, status, observedGeneration]) => ({ type, status, observedGeneration }));
    const { metadata, status } = settled.cluster;
    const given = { metadata: { ...metadata, generation: 2 }, status: { ...status, conditions: all as never } };
    return { ...settled, cluster: { ...settled.cluster, ...given } };
  };
  expect(isCalledReady(told(["Available", "False", 2], ["Ready", "True", 2]))).toBe(true);
  expect(isCalledReady(told(["Available", "True", 2], ["Ready", "False", 2]))).toBe(false);
  expect(isCalledReady(told(["Ready", "True", 1]))).toBe(false);
  expect(isCalledReady(told())).toBe(false);
});
