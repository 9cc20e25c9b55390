import { expect, test } from "vitest";
import { backup } from "#kit/snapshots/etcd-backup.ts";
import { restore } from "#kit/snapshots/etcd-restore.ts";
import type { KubeObject } from "#kube/kinds.ts";
import type { Caches } from "./caches.ts";
import { isEdit, isLoss, openBackupsOf, openRestoresOf, restoresFrom } from "./concerned.ts";

const object = (metadata: object, status: object = {}) => ({ metadata, status }) as unknown as KubeObject;
const BEFORE = object({ generation: 1, resourceVersion: "1", annotations: { team: "a" } });

test.each([
  ["another spec is an edit", object({ generation: 2, annotations: { team: "a" } }), BEFORE, true],
  ["another value of an annotation is an edit", object({ generation: 1, annotations: { team: "b" } }), BEFORE, true],
  ["the removal of an annotation is an edit", object({ generation: 1 }), BEFORE, true],
  [
    "a deletion timestamp is an edit",
    object({ ...BEFORE.metadata, deletionTimestamp: "2026-11-23T00:00:00Z" }),
    BEFORE,
    true,
  ],
  [
    "another status is no edit",
    object({ ...BEFORE.metadata, resourceVersion: "2" }, { readyMembers: "1/3" }),
    BEFORE,
    false,
  ],
  [
    "empty annotations instead of none are no edit",
    object({ generation: 1 }),
    object({ generation: 1, annotations: {} }),
    false,
  ],
  ["a new object is no edit", BEFORE, undefined, false],
])("whether a change of an object is an edit: %s", (_, now, previous, expected) => {
  expect(isEdit({ object: now, previous })).toBe(expected);
});

const pod = (ready: string, metadata = {}) => object(metadata, { conditions: [{ type: "Ready", status: ready }] });

test.each([
  ["a pod that becomes unready is a loss", { object: pod("False"), previous: pod("True") }, true],
  [
    "a pod with a deletion timestamp is a loss",
    { object: pod("True", { deletionTimestamp: "x" }), previous: pod("True") },
    true,
  ],
  ["a deleted pod is a loss", { type: "deleted", object: pod("False") }, true],
  ["a pod that becomes ready is no loss", { object: pod("True"), previous: pod("False") }, false],
  ["a pod that stays ready is no loss", { object: pod("True"), previous: pod("True") }, false],
  ["a new pod is no loss", { type: "added", object: pod("False") }, false],
] as const)("whether a change of a pod is a loss: %s", (_, change, expected) => {
  expect(isLoss(change)).toBe(expected);
});

test("backups and restores that have ended are not triggered by changes of a cluster or backup", () => {
  const phases = [undefined, "Completed", "Failed"] as const;
  const backups = phases.map((phase) => backup(phase && { status: { phase } }).backup);
  const restores = phases.map((phase) => restore(phase && { status: { phase } }).restore);
  const caches = { backups: { byIndex: () => backups }, restores: { byIndex: () => restores } } as unknown as Caches;
  expect(openBackupsOf(caches, BEFORE)).toEqual([backups[0]]);
  expect(openRestoresOf(caches, BEFORE)).toEqual([restores[0]]);
  expect(restoresFrom(caches, BEFORE)).toEqual([restores[0]]);
});
