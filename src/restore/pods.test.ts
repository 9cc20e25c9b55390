import { expect, test } from "vitest";
import { ended, jobOf, MADE_AT, restore, restorePod } from "#kit/etcd-restore.ts";
import { idleSince } from "#restore/pods.ts";

const snapshot = restore();
const job = jobOf(snapshot, snapshot.members[0]!);
const at = (time: string) => Date.parse(`2026-01-01T11:59:${time}Z`);
const later = { creationTimestamp: "2026-01-01T11:59:55Z" };

test("nothing is idle while a container runs", () => {
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [ended(0), { running: {} }])] })).toBeUndefined();
});

test("it is idle since the last that has happened: a Job or a pod was made, is to go, or a container has ended", () => {
  expect(idleSince({ job, pods: [] })).toBe(Date.parse(MADE_AT));
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [], later)] })).toBe(at("55"));
  const going = { ...later, deletionTimestamp: "2026-01-01T11:59:58Z" };
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [{ running: {} }], going)] })).toBe(at("58"));
  expect(idleSince({ job, pods: [restorePod(job, "Failed", [ended(1)])] })).toBe(at("57"));
});
