import { expect, test } from "vitest";
import { defectOf, missingOf } from "#api/defect.ts";

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
  ["ObjectFound", "False", "NoSuchObject", undefined],
])("condition %s=%s with reason %s is the defect %s", (type, status, reason, expected) => {
  expect(defectReason(type, status, reason)).toBe(expected);
});

test("an object without conditions has no defect", () => {
  expect(defectOf({})).toBeUndefined();
  expect(defectOf({ status: {} })).toBeUndefined();
});

test.each<[string, "True" | "False" | "Unknown", boolean]>([
  ["ObjectFound", "False", true],
  ["ObjectFound", "True", false],
  ["ObjectFound", "Unknown", false],
  ["Verified", "False", false],
])("condition %s=%s: the object is missing: %s", (type, status, is) => {
  const condition = {
    type,
    status,
    reason: "NoSuchObject",
    message: "m",
    observedGeneration: 1,
    lastTransitionTime: "",
  };
  expect(missingOf({ status: { conditions: [condition] } }) !== undefined).toBe(is);
  expect(missingOf({})).toBeUndefined();
});
