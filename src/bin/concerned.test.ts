import { expect, test } from "vitest";
import type { KubeObject } from "#kube/kinds.ts";
import { isEdit, isLoss } from "./concerned.ts";

const object = (metadata: object, status: object = {}) => ({ metadata, status }) as unknown as KubeObject;
const BEFORE = object({ generation: 1, resourceVersion: "1", annotations: { team: "a" } });

test.each([
  ["another spec", object({ generation: 2, annotations: { team: "a" } }), BEFORE, true],
  ["another annotation", object({ generation: 1, annotations: { team: "b" } }), BEFORE, true],
  ["the annotation is removed", object({ generation: 1 }), BEFORE, true],
  ["a deletion timestamp", object({ ...BEFORE.metadata, deletionTimestamp: "2026-11-23T00:00:00Z" }), BEFORE, true],
  ["another status", object({ ...BEFORE.metadata, resourceVersion: "2" }, { ready: "1/3" }), BEFORE, false],
  ["no annotations, before and after", object({ generation: 1 }), object({ generation: 1, annotations: {} }), false],
  ["its creation", BEFORE, undefined, false],
])("edit: %s", (_, now, previous, expected) => {
  expect(isEdit({ object: now, previous })).toBe(expected);
});

const pod = (ready: string, metadata = {}) => object(metadata, { conditions: [{ type: "Ready", status: ready }] });

test.each([
  ["a pod is not ready any more", { object: pod("False"), previous: pod("True") }, true],
  ["a pod is being deleted", { object: pod("True", { deletionTimestamp: "x" }), previous: pod("True") }, true],
  ["a pod is gone", { type: "deleted", object: pod("False") }, true],
  ["a pod has become ready", { object: pod("True"), previous: pod("False") }, false],
  ["a pod is still ready", { object: pod("True"), previous: pod("True") }, false],
  ["a pod is new", { type: "added", object: pod("False") }, false],
] as const)("loss: %s", (_, change, expected) => {
  expect(isLoss(change)).toBe(expected);
});
