import { describe, expect, test } from "vitest";
import { idleSince, isReportDue, isRunning, isUnreported, lastEnded, reportOf, stateOf } from "#backup/job-state.ts";
import { agentPod, attempt, backup, DONE, endedPod, FULL } from "#kit/etcd-backup.ts";
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

test("the report is that of who ended, not of who was made after it and runs", () => {
  const pods = [made(running, "2026-01-01T12:30:00Z"), made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z")];
  expect(reportOf({ job, pods })).toEqual(FULL);
  expect(lastEnded(pods)).toBe(pods[1]);
});

test("of several that have ended, who succeeded has the last word, or else who was made last", () => {
  const [early, late] = [
    made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z"),
    made(endedPod(job, 1, ""), "2026-01-01T12:10:00Z"),
  ];
  expect(lastEnded([early, late])).toBe(late);
  const done = made(endedPod(job, 0, DONE), "2026-01-01T11:00:00Z");
  expect(lastEnded([late, done, early])).toBe(done);
  expect(lastEnded([])).toBeUndefined();
});

test("nothing is idle while the agent runs; who is to go does not run any more", () => {
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
])("a Job is idle since it was made, its pod was, or its last one ended, whatever came last: %#", (pods, since) => {
  expect(idleSince({ job, pods })).toBe(Date.parse(since));
});

test("the agent is told apart from what others put beside it", () => {
  const sidecar = { name: "proxy", state: { running: {} } };
  const [agent] = agentPod(job, {}, { waiting: { reason: "ContainerCreating" } }).status!.containerStatuses!;
  const pod = { ...running, status: { phase: "Pending", containerStatuses: [sidecar, agent] } } as unknown as Pod;
  expect(isRunning(pod)).toBe(false);
});

describe("the report of a Job's pod is waited for for a minute", () => {
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
    ["of one that has ended well", complete, [], 59_999, "due"],
    ["and then it is looked for", complete, [], 60_000, "unreported"],
    ["unless it is there", complete, [broken, done], 60_000, undefined],
    ["that of another attempt is not it", complete, [broken], 60_000, "unreported"],
    ["nor does who runs yet have one", complete, [running], 60_000, "unreported"],
    ["of one that has failed", failed, [], 59_999, "due"],
    ["which is looked for at once, and not because of that", failed, [], 60_000, undefined],
    ["it is there", failed, [broken], 0, undefined],
    ["it is that of the last one", failed, [broken, running], 0, "due"],
  ])("%s", (_, of, pods, afterMs, expected) => {
    const look = { takenAtMs: ENDED_MS + afterMs };
    const seen = { job: of, pods };
    expect([isReportDue(look, seen), isUnreported(look, seen)]).toEqual([
      expected === "due",
      expected === "unreported",
    ]);
  });
});
