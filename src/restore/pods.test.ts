import { expect, test } from "vitest";
import { type AgentReport, failure } from "#agent/report.ts";
import { idleSince } from "#agent-job/job-state.ts";
import { broughtWith, ended, jobOf, MADE_AT, restore, restorePod } from "#kit/snapshots/etcd-restore.ts";
import type { Pod } from "#kube/kinds.ts";
import { broughtBy, FILLERS, failureOf } from "#restore/pods.ts";

const snapshot = restore();
const job = jobOf(snapshot, snapshot.members[0]!);
const at = (time: string) => Date.parse(`2026-01-01T11:59:${time}Z`);
const later = { creationTimestamp: "2026-01-01T11:59:55Z" };

test("a Job is not idle while a container of its pod runs", () => {
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [ended(0), { running: {} }])] }, FILLERS)).toBeUndefined();
});

test.each(["fetch", "base", "replay", "etcdutl", "finish"])(
  "a Job is not idle while container %s runs, and another container does not count",
  (name) => {
    const pod = restorePod(job, "Pending", []);
    const status = { ...pod.status!.containerStatuses![0]!, name, state: { running: {} } };
    expect(
      idleSince({ job, pods: [{ ...pod, status: { ...pod.status, containerStatuses: [status] } }] }, FILLERS),
    ).toBeUndefined();
    const beside = { ...status, name: "replica" };
    expect(
      idleSince({ job, pods: [{ ...pod, status: { ...pod.status, containerStatuses: [beside] } }] }, FILLERS),
    ).toBe(Date.parse(MADE_AT));
  },
);

test("the fetched snapshot is taken from the succeeded pod, else the running one, else the last", () => {
  const pod = (phase: string, sha256: string, name: string) =>
    restorePod(job, phase, [ended(0, broughtWith({ sha256 })), { running: {} }], { name, uid: name });
  const [good, bad, next] = [pod("Succeeded", "a", "a"), pod("Failed", "b", "b"), pod("Pending", "c", "c")];
  const brought = (...pods: readonly Pod[]) => broughtBy({ job, pods })?.sha256;
  expect([brought(next, good), brought(bad, good), brought(bad, next), brought(bad), brought()]).toEqual([
    "a",
    "a",
    "c",
    "b",
    undefined,
  ]);
  const silent = restorePod(job, "Pending", [{ running: {} }], { name: "d", uid: "d" });
  expect(brought(bad, silent)).toBe("b");
});

test("a Job is idle since the last creation, deletion or end of a container", () => {
  expect(idleSince({ job, pods: [] }, FILLERS)).toBe(Date.parse(MADE_AT));
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [], later)] }, FILLERS)).toBe(at("55"));
  const going = { ...later, deletionTimestamp: "2026-01-01T11:59:58Z" };
  expect(idleSince({ job, pods: [restorePod(job, "Pending", [{ running: {} }], going)] }, FILLERS)).toBe(at("58"));
  expect(idleSince({ job, pods: [restorePod(job, "Failed", [ended(1)])] }, FILLERS)).toBe(at("57"));
});

test.each<[string, number, AgentReport | string, string]>([
  ["fetch", 2, failure("BadKey", "the key is wrong"), "BadKey: the key is wrong"],
  ["base", 1, "Error: expected sha256", "RestoreToolFailed: Error: expected sha256"],
  ["replay", 2, failure("BadKey", "the key is wrong"), "BadKey: the key is wrong"],
  ["etcdutl", 1, "", "RestoreToolFailed: etcdutl ended with exit code 1 (Error)"],
  ["finish", 2, failure("NoSpace", "the volume is full"), "NoSpace: the volume is full"],
])("a point-in-time restore reports the failure of container %s as its reason", (name, exitCode, words, expected) => {
  const state = ended(exitCode, words);
  const pod = restorePod(job, "Failed", []);
  const initContainerStatuses = [{ ...pod.status!.initContainerStatuses![0]!, name, state }];
  const { reason, message } = failureOf({ job, pods: [{ ...pod, status: { ...pod.status, initContainerStatuses } }] })!;
  expect(`${reason}: ${message}`).toBe(expected);
});
