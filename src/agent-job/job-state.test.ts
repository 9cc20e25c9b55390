import { describe, expect, test } from "vitest";
import { idleSince, isReportDue, isRunning, isUnreported, lastEnded, reportOf, stateOf } from "#agent-job/job-state.ts";
import { agentPod, attempt, backup, DONE, endedPod, FULL } from "#kit/snapshots/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";

const { job } = attempt(backup(), "running");
const running = agentPod(job, { phase: "Running" }, { running: {} });

function made(pod: Pod, creationTimestamp: string, more: object = {}): Pod {
  return { ...pod, metadata: { ...pod.metadata, creationTimestamp, ...more } };
}

test.each([
  [[{ type: "Complete", status: "True" }], "succeeded"],
  [[{ type: "Failed", status: "True" }], "failed"],
  [[{ type: "Complete", status: "False" }], "active"],
  [[{ type: "Failed", status: "False" }], "active"],
  [[{ type: "Suspended", status: "True" }], "active"],
  [[], "active"],
])("a Job with the conditions %j is %s", (conditions, state) => {
  expect(stateOf({ ...job, status: { conditions } } as Job)).toBe(state);
});

test("the report is from the ended pod, not from a newer running one", () => {
  const pods = [made(running, "2026-01-01T12:30:00Z"), made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z")];
  expect(reportOf({ job, pods })).toEqual(FULL);
  expect(lastEnded(pods)).toBe(pods[1]);
});

test("of several ended pods the successful one counts, else the newest", () => {
  const [early, late] = [
    made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z"),
    made(endedPod(job, 1, ""), "2026-01-01T12:10:00Z"),
  ];
  expect(lastEnded([early, late])).toBe(late);
  const done = made(endedPod(job, 0, DONE), "2026-01-01T11:00:00Z");
  expect(lastEnded([late, done, early])).toBe(done);
  expect(lastEnded([])).toBeUndefined();
});

test("a Job is not idle while the agent runs; a pod that is being deleted does not count as running", () => {
  expect(idleSince({ job, pods: [running] })).toBeUndefined();
  const deletionTimestamp = "2026-01-01T12:20:00Z";
  expect(idleSince({ job, pods: [made(running, "2026-01-01T12:00:00Z", { deletionTimestamp })] })).toBe(
    Date.parse(deletionTimestamp),
  );
});

test.each<[readonly Pod[], string]>([
  [[], "2026-01-01T11:59:50Z"],
  [[made(agentPod(job, { phase: "Pending" }, {}), "2026-01-01T12:05:00Z")], "2026-01-01T12:05:00Z"],
  [[endedPod(job, 1, FULL)], "2026-01-01T11:59:57Z"],
  [
    [endedPod(job, 1, FULL), made(agentPod(job, { phase: "Pending" }, {}), "2026-01-01T11:59:55Z")],
    "2026-01-01T11:59:57Z",
  ],
])("a Job is idle since the last creation of Job or pod, or the last container end: %#", (pods, since) => {
  expect(idleSince({ job, pods })).toBe(Date.parse(since));
});

test("the agent is distinguished from injected containers", () => {
  const sidecar = { name: "proxy", state: { running: {} } };
  const [agent] = agentPod(job, {}, { waiting: { reason: "ContainerCreating" } }).status!.containerStatuses!;
  const pod = { ...running, status: { phase: "Pending", containerStatuses: [sidecar, agent] } } as unknown as Pod;
  expect(isRunning(pod)).toBe(false);
});

describe("the report of a Job's pod is awaited for a minute", () => {
  const ENDED_MS = Date.parse("2026-01-01T12:00:00Z");
  const complete = {
    ...job,
    status: {
      completionTime: "2026-01-01T12:00:00Z",
      conditions: [{ type: "Complete", status: "True", lastTransitionTime: "2026-01-01T12:00:00Z" }],
    },
  } as Job;
  const failed = {
    ...job,
    status: { conditions: [{ type: "Failed", status: "True", lastTransitionTime: "2026-01-01T12:00:00Z" }] },
  } as Job;
  const [done, broken] = [endedPod(job, 0, DONE), endedPod(job, 1, FULL)];
  test.each<[string, Job, readonly Pod[], number, "due" | "unreported" | undefined]>([
    ["of a successful Job", complete, [], 59_999, "due"],
    ["after a minute counts as unreported", complete, [], 60_000, "unreported"],
    ["is present", complete, [broken, done], 60_000, undefined],
    ["of another attempt does not count", complete, [broken], 60_000, "unreported"],
    ["of a running pod does not exist yet", complete, [running], 60_000, "unreported"],
    ["of a failed Job", failed, [], 59_999, "due"],
    ["of a failed Job is no longer awaited after a minute", failed, [], 60_000, undefined],
    ["of a failed Job is present", failed, [broken], 0, undefined],
    ["of a failed Job must be that of the last pod", failed, [broken, running], 0, "due"],
  ])("%s", (_, of, pods, afterMs, expected) => {
    const look = { takenAtMs: ENDED_MS + afterMs };
    const seen = { job: of, pods };
    expect([isReportDue(look, seen), isUnreported(look, seen)]).toEqual([
      expected === "due",
      expected === "unreported",
    ]);
  });
});
