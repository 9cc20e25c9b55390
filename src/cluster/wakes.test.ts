import { expect, test } from "vitest";
import { isNewsOfBudget, isNewsOfPeer } from "#cluster/wakes.ts";
import type { KubeObject } from "#kube/kinds.ts";

const object = (spec: object, status: object | undefined) =>
  ({ metadata: { name: "my-etcd-0" }, spec, status }) as unknown as KubeObject;
const ready = (status: string, reason = "", message = "") => ({
  revision: "a",
  conditions: [
    { type: "Other", status: "False", reason: message, message: reason },
    { type: "Ready", status, reason, message, observedGeneration: 1 },
  ],
});

test.each([
  ["another spec", { memberID: "a1" }, ready("True"), {}, ready("True"), true],
  ["that the member is healthy", {}, ready("True"), {}, { revision: "a" }, false],
  ["healthy, for another reason", {}, ready("True", "x", "y"), {}, ready("True"), false],
  ["what is in its way", {}, ready("False", "ClaimLost", "x"), {}, ready("True"), true],
  ["another reason", {}, ready("False", "NameTaken", "x"), {}, ready("False", "ClaimLost", "x"), true],
  ["another word", {}, ready("False", "ClaimLost", "y"), {}, ready("False", "ClaimLost", "x"), true],
  ["another revision", {}, { revision: "b" }, {}, { revision: "a" }, true],
  ["its first revision", {}, { revision: "a" }, {}, undefined, true],
  ["its identity", {}, { revision: "a", memberID: "a1" }, {}, { revision: "a" }, false],
] as const)("wakes: of an EtcdPeer, %s", (_, spec, status, specBefore, before, expected) => {
  const change = { object: object(spec, status), previous: object(specBefore, before) };
  expect(isNewsOfPeer(change)).toBe(expected);
});

test.each([
  ["how many pods are well", { observedGeneration: 1, currentHealthy: 2 }, { observedGeneration: 1 }, false],
  ["that its controller has seen it", { observedGeneration: 1 }, undefined, true],
])("wakes: of a budget, %s", (_, status, before, expected) => {
  expect(isNewsOfBudget({ object: object({}, status), previous: object({}, before) })).toBe(expected);
});

test("wakes: of a budget, another wish", () => {
  expect(isNewsOfBudget({ object: object({ minAvailable: 2 }, {}), previous: object({ minAvailable: 1 }, {}) })).toBe(
    true,
  );
});
