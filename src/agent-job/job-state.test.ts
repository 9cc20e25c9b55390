import { describe, expect, test } from "vitest";
import { endPodOf } from "#agent-job/endings.ts";
import {
  attempted,
  endedAtMs,
  hasEnded,
  hasSucceeded,
  idleSince,
  isReportDue,
  isRunning,
  isToBeStopped,
  isUnreported,
  lastEnded,
  lingeringPod,
  reportOf,
  stateOf,
  workingPod,
} from "#agent-job/job-state.ts";
import { agentPod, attempt, backup, DONE, endedPod, FULL, withProxy } from "#kit/snapshots/etcd-backup.ts";
import type { Job, Pod } from "#kube/kinds.ts";

const { job } = attempt(backup(), "running");
const running = agentPod(job, { phase: "Running" }, { running: {} });

function made(pod: Pod, creationTimestamp: string, more: object = {}): Pod {
  return { ...pod, metadata: { ...pod.metadata, creationTimestamp, ...more } };
}

describe("with a container that a webhook added and that keeps running,", () => {
  const raw = (exitCode: number) => endedPod(job, exitCode, exitCode === 0 ? DONE : FULL);
  const at = (exitCode: number) => withProxy({ job, pods: [raw(exitCode)] });

  test("the Job has succeeded as soon as the agent has", () => {
    const seen = at(0);
    expect([stateOf(seen), reportOf(seen)]).toEqual(["succeeded", DONE]);
    expect(seen).toEqual({ job: { ...job, status: { active: 1 } }, pods: [lingeringPod(seen)] });
    expect([isReportDue({ takenAtMs: 0 }, seen), isToBeStopped(seen)]).toEqual([false, true]);
    expect(endPodOf([undefined, seen])).toBeUndefined();
  });

  test("the Job has succeeded with the agent, also when the added container does not start", () => {
    const [pod] = at(0).pods;
    const [agent] = pod!.status!.containerStatuses!;
    const waiting = { name: "istio-proxy", state: { waiting: { reason: "ImagePullBackOff" } } };
    const seen = { job, pods: [{ ...pod, status: { ...pod!.status, containerStatuses: [agent, waiting] } } as Pod] };
    expect([stateOf(seen), reportOf(seen), lingeringPod(seen)]).toEqual(["succeeded", DONE, seen.pods[0]]);
  });

  test("the pod has failed as soon as the agent has, and its Job continues", () => {
    const seen = at(1);
    expect([stateOf(seen), reportOf(seen), workingPod(seen)]).toEqual(["active", FULL, undefined]);
    expect(endPodOf([undefined, seen])?.step.pod).toBe(seen.pods[0]);
  });

  test("the attempt has failed at once when a retry cannot help, and the pod with its report stays", () => {
    const seen = at(2);
    expect([stateOf(seen), reportOf(seen), endedAtMs(seen)]).toEqual([
      "failed",
      FULL,
      Date.parse("2026-01-01T11:59:57Z"),
    ]);
    expect([endPodOf([seen]), isToBeStopped(seen)]).toEqual([undefined, true]);
    expect([0, 1, 2].map((code) => hasSucceeded(at(code).pods[0]!))).toEqual([true, false, false]);
    expect(endedAtMs(at(0))).toBe(Date.parse("2026-01-01T11:59:57Z"));
    expect(endedAtMs({ job, pods: [running] })).toBeNaN();
  });

  test("the attempt has succeeded with its agent, also when the Job has failed by its deadline afterwards", () => {
    const [lingering] = at(0).pods;
    const late = { ...job, status: { conditions: [{ type: "Failed", status: "True" }] } } as Job;
    expect(stateOf({ job: late, pods: [lingering!] })).toBe("succeeded");
  });

  test("a pod that is being deleted, or of a Job that has ended, is left alone", () => {
    const [lingering] = at(1).pods;
    const leaving = { ...lingering!, metadata: { ...lingering!.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    const gone = { job, pods: [leaving] };
    expect(endPodOf([gone])).toBeUndefined();
    expect(endPodOf([gone, at(1)])?.step.pod).toEqual(lingering);
    const over = { ...job, status: { conditions: [{ type: "Failed", status: "True" }] } } as Job;
    expect(endPodOf([attempted(over, [lingering!])])).toBeUndefined();
  });

  test.each(["agent", "verify", "finish"])("the pod ends with its container %s, and with no other", (name) => {
    const proxy = { name: "istio-proxy", state: { running: {} } };
    const ended = (name: string) => ({ name, state: { terminated: { exitCode: 0 } } });
    const podOf = (statuses: readonly object[]) => ({ status: { containerStatuses: statuses } }) as unknown as Pod;
    expect(hasEnded(podOf([ended(name), proxy]))).toBe(true);
    expect(hasEnded(podOf([ended("setup"), proxy]))).toBe(false);
  });

  test("a pod that has failed, for example with its node, does not linger", () => {
    const [pod] = at(0).pods;
    const lost = { ...pod, status: { ...pod!.status, phase: "Failed" } } as Pod;
    expect([stateOf({ job, pods: [lost] }), lingeringPod({ job, pods: [lost] })]).toEqual(["active", undefined]);
  });

  test("nothing has ended while the agent runs, or when the kubelet has reported no container", () => {
    const proxy = { name: "istio-proxy", state: { running: {} } };
    const status = { ...running.status, containerStatuses: [...running.status!.containerStatuses!, proxy] };
    for (const pod of [
      { ...running, status },
      { ...running, status: { containerStatuses: [proxy] } },
    ])
      expect([hasEnded(pod as Pod), lingeringPod({ job, pods: [pod as Pod] })]).toEqual([false, undefined]);
  });

  test("nothing lingers once the added container has ended, too", () => {
    const [seen] = at(0).pods;
    const ends = seen!.status!.containerStatuses!.map((each) => ({ ...each, state: { terminated: { exitCode: 0 } } }));
    const pod = { ...seen, status: { ...seen!.status, containerStatuses: ends } } as Pod;
    expect([stateOf({ job, pods: [pod] }), lingeringPod({ job, pods: [pod] })]).toEqual(["active", undefined]);
  });
});

test.each([
  [[{ type: "Complete", status: "True" }], "succeeded"],
  [[{ type: "Failed", status: "True" }], "failed"],
  [[{ type: "Complete", status: "False" }], "active"],
  [[{ type: "Failed", status: "False" }], "active"],
  [[{ type: "Suspended", status: "True" }], "active"],
  [[], "active"],
])("a Job with the conditions %j is %s", (conditions, state) => {
  expect(stateOf({ job: { ...job, status: { conditions } } as Job, pods: [] })).toBe(state);
});

test("a Job is joined by the pods that it controls", () => {
  const reference = { apiVersion: "batch/v1", kind: "Job", name: "nightly", controller: true, uid: job.metadata.uid };
  const own = made(running, "2026-01-01T12:00:00Z", { ownerReferences: [reference] });
  const others = made(running, "2026-01-01T12:00:00Z", { ownerReferences: [{ ...reference, uid: "of another Job" }] });
  expect(attempted(job, [others, own])).toEqual({ job, pods: [own] });
  expect(attempted(undefined, [own])).toBeUndefined();
});

test("the report is taken from the ended pod, not from a newer running pod", () => {
  const pods = [made(running, "2026-01-01T12:30:00Z"), made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z")];
  expect(reportOf({ job, pods })).toEqual(FULL);
  expect(lastEnded(pods)).toBe(pods[1]);
});

test("the report is taken from the succeeded pod, else from the newest ended pod", () => {
  const [early, late] = [
    made(endedPod(job, 1, FULL), "2026-01-01T12:00:00Z"),
    made(endedPod(job, 1, ""), "2026-01-01T12:10:00Z"),
  ];
  expect(lastEnded([early, late])).toBe(late);
  const done = made(endedPod(job, 0, DONE), "2026-01-01T11:00:00Z");
  expect(lastEnded([late, done, early])).toBe(done);
  expect(lastEnded([])).toBeUndefined();
});

test("a Job is not idle while its agent runs in a pod that is not being deleted", () => {
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
])("a Job is idle since the last creation of Job or pod, or the last end of a container: case %#", (pods, since) => {
  expect(idleSince({ job, pods })).toBe(Date.parse(since));
});

test("a sidecar that runs does not make the agent count as running", () => {
  const sidecar = { name: "proxy", state: { running: {} } };
  const [agent] = agentPod(job, {}, { waiting: { reason: "ContainerCreating" } }).status!.containerStatuses!;
  const pod = { ...running, status: { phase: "Pending", containerStatuses: [sidecar, agent] } } as unknown as Pod;
  expect(isRunning(pod)).toBe(false);
});

describe("the report of an ended Job's pod", () => {
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
    ["is awaited for a succeeded Job without pods", complete, [], 59_999, "due"],
    ["counts as missing a minute after the Job succeeded", complete, [], 60_000, "unreported"],
    ["is present when a pod has succeeded", complete, [broken, done], 60_000, undefined],
    [
      "counts as missing when only a failed attempt of a succeeded Job is present",
      complete,
      [broken],
      60_000,
      "unreported",
    ],
    [
      "counts as missing when the pod of a succeeded Job still runs after a minute",
      complete,
      [running],
      60_000,
      "unreported",
    ],
    ["is awaited for a failed Job without pods", failed, [], 59_999, "due"],
    ["is no longer awaited a minute after the Job failed", failed, [], 60_000, undefined],
    ["is present when the pod of a failed Job has ended", failed, [broken], 0, undefined],
    ["is awaited while the last pod of a failed Job still runs", failed, [broken, running], 0, "due"],
  ])("%s", (_, of, pods, afterMs, expected) => {
    const look = { takenAtMs: ENDED_MS + afterMs };
    const seen = { job: of, pods };
    expect([isReportDue(look, seen), isUnreported(look, seen)]).toEqual([
      expected === "due",
      expected === "unreported",
    ]);
  });
});
