import { expect, test } from "vitest";
import { defectOf } from "#api/defect.ts";

function defectReason(type: string, status: "True" | "False" | "Unknown", reason: string) {
  const condition = { type, status, reason, message: "m", observedGeneration: 1, lastTransitionTime: "" };
  return defectOf({ status: { phase: "Completed", conditions: [condition] } })?.reason;
}

test.each<[string, "True" | "False" | "Unknown", string, string | undefined]>([
  ["Verified", "False", "VerificationFailed", "VerificationFailed"],
  ["Verified", "False", "SnapshotCorrupt", "SnapshotCorrupt"],
  ["Verified", "False", "RestoreToolFailed", "RestoreToolFailed"],
  ["Verified", "False", "NoSuchObject", "NoSuchObject"],
  ["Verified", "False", "StoreUnreachable", undefined],
  ["Verified", "Unknown", "VerificationFailed", undefined],
  ["Verified", "True", "Verified", undefined],
  ["Complete", "False", "SnapshotCorrupt", undefined],
])("condition %s=%s with reason %s is the defect %s", (type, status, reason, expected) => {
  expect(defectReason(type, status, reason)).toBe(expected);
});

test("an object without conditions has no defect", () => {
  expect(defectOf({})).toBeUndefined();
  expect(defectOf({ status: {} })).toBeUndefined();
});
