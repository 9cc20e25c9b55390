import { expect, test } from "vitest";
import type { Pod } from "#kube/kinds.ts";
import {
  currentPod,
  currentPods,
  dialAddress,
  hasRun,
  isContainerReady,
  isHeldUp,
  isReady,
  isStopped,
  lastWords,
  needsHelp,
  restartsOf,
  runs,
  startedMsAgo,
  whyNotRunning,
} from "#kube/pod.ts";

/** A pod as the API stores it: its status, and what differs in its metadata. */
function pod(status: object, metadata: object = {}): Pod {
  const whole = { namespace: "foo", name: "p", uid: "u", resourceVersion: "1", creationTimestamp: at(0), ...metadata };
  return { apiVersion: "v1", kind: "Pod", metadata: whole, status } as unknown as Pod;
}
function at(second: number): string {
  return `2026-01-01T12:00:0${second}Z`;
}
function container(state: object, lastState?: object): object {
  return { name: "etcd", state, ...(lastState === undefined ? {} : { lastState }) };
}

const GOING = { deletionTimestamp: at(9) };
const running = { phase: "Running", podIP: "10.0.0.1", containerStatuses: [container({ running: {} })] };
const unscheduled = (condition: object) =>
  pod({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", ...condition }] });
const waits = (waiting: object, lastState?: object) =>
  pod({ phase: "Pending", containerStatuses: [container({ waiting }, lastState)] });

const reasons: { name: string; given: Pod; why: string | undefined; help?: boolean }[] = [
  { name: "a running pod", given: pod(running), why: undefined },
  { name: "a pod that is being deleted", given: pod(running, GOING), why: "pod p is being deleted" },
  {
    name: "a pod without a node",
    given: unscheduled({ reason: "Unschedulable", message: "0/3 nodes are available" }),
    why: "pod cannot be scheduled: 0/3 nodes are available",
    help: true,
  },
  {
    name: "a pod without a node and without a message",
    given: unscheduled({}),
    why: "pod cannot be scheduled: no reason given",
    help: true,
  },
  {
    name: "a gated pod",
    given: unscheduled({ reason: "SchedulingGated" }),
    why: "pod cannot be scheduled: SchedulingGated",
    help: true,
  },
  {
    name: "an image that is being pulled",
    given: waits({ reason: "ContainerCreating" }),
    why: "container etcd waits: ContainerCreating",
  },
  {
    name: "an image that does not exist",
    given: waits({ reason: "ErrImagePull", message: "not found" }),
    why: "container etcd waits: ErrImagePull (not found)",
    help: true,
  },
  {
    name: "a container that crashes repeatedly",
    given: waits({ reason: "CrashLoopBackOff" }, { terminated: { exitCode: 137, reason: "OOMKilled" } }),
    why: "container etcd waits: CrashLoopBackOff; it ended before with exit code 137 (OOMKilled)",
    help: true,
  },
  { name: "a wait without a message", given: waits({}), why: "container etcd waits: no reason given" },
  {
    name: "a container that has ended",
    given: pod({ phase: "Running", containerStatuses: [container({ terminated: { exitCode: 1, reason: "Error" } })] }),
    why: "container etcd ended: Error with exit code 1",
  },
  {
    name: "an evicted pod",
    given: pod({ phase: "Failed", reason: "Evicted", message: "the node was low on memory" }),
    why: "pod is Failed: the node was low on memory",
  },
  { name: "a pod with nothing but a phase", given: pod({ phase: "Pending" }), why: "pod is Pending" },
  { name: "a pod without a status", given: pod({}), why: "pod is not started" },
];
for (const { name, given, why, help = false } of reasons) {
  test(`${name}: ${why ?? "no problem"}`, () => {
    expect(whyNotRunning(given, "etcd")).toBe(why);
    expect(needsHelp(given)).toBe(help);
    expect(isHeldUp(given, "etcd")).toBe(help);
  });
}

test("a pod that is being deleted has no problem, whatever its containers wait for", () => {
  expect(needsHelp(pod(waits({ reason: "ErrImagePull" }).status!, GOING))).toBe(false);
  expect(isHeldUp(pod(waits({ reason: "ErrImagePull" }).status!, GOING), "etcd")).toBe(false);
});

/** A sidecar beside etcd. The kubelet lists containers in the order of their names. */
const beside = (sidecar: object, etcd: object, first: readonly object[] = []) =>
  pod({
    phase: "Running",
    initContainerStatuses: first,
    containerStatuses: [
      { name: "agent", ...sidecar },
      { name: "etcd", ...etcd },
    ],
  });
const RUNS = { state: { running: { startedAt: at(1) } } };
const RUNS_ANEW = { state: { running: { startedAt: at(5) } }, restartCount: 7 };
const STARTS = { state: { waiting: { reason: "PodInitializing" } } };
const NO_IMAGE = { state: { waiting: { reason: "ErrImagePull", message: "not found" } } };
const CRASHES = {
  restartCount: 3,
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { exitCode: 1, reason: "Error", message: "words" } },
};
const LOOPS = "waits: CrashLoopBackOff; it ended before with exit code 1 (Error): words";

interface Told {
  readonly name: string;
  readonly given: Pod;
  readonly why: string | undefined;
  readonly help?: true;
  readonly heldUp?: true;
  readonly ran?: true;
  readonly words?: readonly string[];
  readonly restarts?: number;
}
const withOthers: readonly Told[] = [
  {
    name: "a sidecar that crashes beside etcd that runs",
    given: beside(CRASHES, RUNS),
    why: `container agent ${LOOPS}`,
    help: true,
    ran: true,
  },
  {
    name: "a sidecar that crashes while etcd starts",
    given: beside(CRASHES, STARTS),
    why: `container agent ${LOOPS}`,
    help: true,
  },
  {
    name: "a sidecar without an image",
    given: beside(NO_IMAGE, STARTS),
    why: "container agent waits: ErrImagePull (not found)",
    help: true,
  },
  {
    name: "etcd that crashes beside a sidecar that runs",
    given: beside(RUNS, CRASHES),
    why: `container etcd ${LOOPS}`,
    help: true,
    heldUp: true,
    ran: true,
    words: ["words"],
    restarts: 3,
  },
  {
    name: "both containers fail",
    given: beside(NO_IMAGE, CRASHES),
    why: `container etcd ${LOOPS}`,
    help: true,
    heldUp: true,
    ran: true,
    words: ["words"],
    restarts: 3,
  },
  { name: "both containers are starting", given: beside(STARTS, STARTS), why: "container etcd waits: PodInitializing" },
  {
    name: "a sidecar that ended successfully",
    given: beside({ state: { terminated: { exitCode: 0 } } }, STARTS),
    why: "container etcd waits: PodInitializing",
  },
  { name: "a sidecar that was started again", given: beside(RUNS_ANEW, RUNS), why: undefined, ran: true },
  {
    name: "an init container that crashes",
    given: beside(STARTS, STARTS, [{ name: "first", ...CRASHES }]),
    why: `container first ${LOOPS}`,
    help: true,
    heldUp: true,
  },
  {
    name: "an init container that has failed",
    given: beside(STARTS, STARTS, [{ name: "first", state: { terminated: { exitCode: 2 } } }]),
    why: "container first ended: no reason given with exit code 2",
  },
  {
    name: "an init container that is done",
    given: beside(STARTS, STARTS, [{ name: "first", state: { terminated: { exitCode: 0 } } }]),
    why: "container etcd waits: PodInitializing",
  },
  {
    name: "an init container that keeps running, and crashes beside etcd",
    given: beside(RUNS, RUNS, [{ name: "first", ...CRASHES }]),
    why: `container first ${LOOPS}`,
    help: true,
    ran: true,
  },
];
for (const { name, given, why, help = false, heldUp = false, ran = false, words = [], restarts = 0 } of withOthers) {
  test(`etcd's problem comes from etcd's container only, the pod's from all its containers: ${name}`, () => {
    expect(whyNotRunning(given, "etcd")).toBe(why);
    expect(needsHelp(given)).toBe(help);
    expect(isHeldUp(given, "etcd")).toBe(heldUp);
    expect(isStopped(given, "etcd")).toBe(heldUp);
    expect(hasRun(given, "etcd")).toBe(ran);
    expect(runs(given, "etcd")).toBe(given.status?.containerStatuses?.[1]?.state?.running !== undefined);
    expect(lastWords(given, "etcd")).toEqual(words);
    expect(restartsOf(given, "etcd")).toBe(restarts);
    expect(startedMsAgo(given, "etcd", Date.parse(at(9)))).toBe(
      given.status?.containerStatuses?.[1]?.state?.running === undefined ? 9_000 : 8_000,
    );
  });
}

const choices: { name: string; pods: readonly Pod[]; expect: string | undefined }[] = [
  { name: "none when there is no pod", pods: [], expect: undefined },
  { name: "the only pod", pods: [pod(running, { name: "a" })], expect: "a" },
  {
    name: "the newest pod",
    pods: [pod(running, { name: "old" }), pod(running, { name: "new", creationTimestamp: at(5) })],
    expect: "new",
  },
  {
    name: "the pod that is not being deleted, before a newer one that is",
    pods: [pod(running, { name: "stays" }), pod(running, { name: "goes", creationTimestamp: at(5), ...GOING })],
    expect: "stays",
  },
  {
    name: "the running pod, before a newer one that has ended",
    pods: [pod(running, { name: "runs" }), pod({ phase: "Failed" }, { name: "over", creationTimestamp: at(5) })],
    expect: "runs",
  },
  {
    name: "the newest pod when all are being deleted",
    pods: [
      pod(running, { name: "first", ...GOING }),
      pod(running, { name: "last", creationTimestamp: at(5), ...GOING }),
    ],
    expect: "last",
  },
];
for (const { name, pods, expect: wanted } of choices) {
  test(`the current pod of a member is ${name}`, () => {
    expect(currentPod(pods)?.metadata.name).toBe(wanted);
    expect(currentPod([...pods].reverse())?.metadata.name).toBe(wanted);
  });
}

test("each hostname has one current pod, and a pod without a hostname counts by its own name", () => {
  const called = (hostname: string, metadata: object) => ({ ...pod(running, metadata), spec: { hostname } }) as Pod;
  const [old, young] = [called("a", { name: "a-1", ...GOING }), called("a", { name: "a-2" })];
  const [other, plain] = [called("b", { name: "b-1" }), pod(running, { name: "p" })];
  expect([...currentPods([old, young, other, plain])]).toEqual([
    ["a", young],
    ["b", other],
    ["p", plain],
  ]);
  expect([...currentPods([])]).toEqual([]);
});

const addresses: { name: string; status: object; expect: string | undefined }[] = [
  { name: "an IPv4 address", status: running, expect: "10.0.0.1:2379" },
  { name: "an IPv6 address in brackets", status: { ...running, podIP: "fd00::1" }, expect: "[fd00::1]:2379" },
  { name: "no address yet", status: { phase: "Running" }, expect: undefined },
  {
    name: "the address of a pod that does not run yet",
    status: { ...running, phase: "Pending", containerStatuses: [container({ waiting: {} })] },
    expect: undefined,
  },
  {
    name: "the address of a pod with another container that does not run yet",
    status: {
      ...running,
      phase: "Pending",
      containerStatuses: [{ name: "agent", ...NO_IMAGE }, container({ running: {} })],
    },
    expect: "10.0.0.1:2379",
  },
  {
    name: "the address of a pod with only another container running",
    status: {
      ...running,
      phase: "Pending",
      containerStatuses: [{ name: "agent", ...RUNS }, container({ waiting: {} })],
    },
    expect: undefined,
  },
  { name: "the old address of a failed pod", status: { ...running, phase: "Failed" }, expect: undefined },
  {
    name: "the old address of an ended pod",
    status: { ...running, phase: "Succeeded" },
    expect: undefined,
  },
];
for (const { name, status, expect: wanted } of addresses) {
  test(`the address to dial is ${wanted ?? "undefined"} for ${name}`, () =>
    expect(dialAddress(pod(status), "etcd", 2379)).toBe(wanted));
}

test("a pod is ready when its condition Ready is True, and not without that condition", () => {
  const ready = (status: string) => isReady(pod({ conditions: [{ type: "Ready", status }] }));
  expect([ready("True"), ready("False"), ready("Unknown"), isReady(pod({}))]).toEqual([true, false, false, false]);
});

test("a pod's age is that of its container, else its own, and a slow clock does not keep it young", () => {
  const made = Date.parse("2026-01-01T12:00:00Z");
  const pod = { metadata: { creationTimestamp: "2026-01-01T12:00:00Z" }, status: {} } as unknown as Pod;
  const running = { name: "etcd", state: { running: { startedAt: "2026-01-01T12:00:05Z" } } };
  const started = { ...pod, status: { containerStatuses: [running] } } as unknown as Pod;
  expect(startedMsAgo(pod, "etcd", made + 7_000)).toBe(7_000);
  expect(startedMsAgo(started, "etcd", made + 7_000)).toBe(2_000);
  expect(startedMsAgo(pod, "etcd", made - 3_600_000)).toBe(3_600_000);
});

test("the readiness of one container is read from that container's status", () => {
  const readinessOf = (containerStatuses?: readonly object[]) =>
    isContainerReady(pod({ phase: "Running", containerStatuses }), "etcd");
  expect(
    readinessOf([
      { name: "agent", ready: false },
      { name: "etcd", ready: true },
    ]),
  ).toBe(true);
  expect(
    readinessOf([
      { name: "agent", ready: true },
      { name: "etcd", ready: false },
    ]),
  ).toBe(false);
  expect(readinessOf([{ name: "etcd" }])).toBe(false);
  expect(readinessOf()).toBe(false);
});

const ENDED = container({ terminated: { exitCode: 1 } });
const stops: { name: string; given: Pod; is: boolean }[] = [
  { name: "a pod with a container that crashes repeatedly", given: waits({ reason: "CrashLoopBackOff" }), is: true },
  { name: "a pod with an ended container", given: pod({ phase: "Running", containerStatuses: [ENDED] }), is: true },
  { name: "a pod that has ended", given: pod({ phase: "Failed", containerStatuses: [ENDED] }), is: true },
  { name: "a pod without a node", given: unscheduled({ reason: "Unschedulable" }), is: true },
  { name: "a pod with a missing image", given: waits({ reason: "ErrImagePull" }), is: true },
  { name: "a running pod", given: pod(running), is: false },
  {
    name: "a pod with one of its containers running",
    given: pod({ phase: "Running", containerStatuses: [ENDED, container({ running: {} })] }),
    is: false,
  },
  { name: "a starting pod", given: waits({ reason: "ContainerCreating" }), is: false },
  { name: "a pod with an empty status", given: pod({ phase: "Pending" }), is: false },
  { name: "a pod without a status", given: { ...pod({}), status: undefined } as unknown as Pod, is: false },
  {
    name: "a pod that is being deleted and has a container that may still run",
    given: pod({ containerStatuses: [container({ waiting: { reason: "CrashLoopBackOff" } })] }, GOING),
    is: false,
  },
];

for (const { name, given, is } of stops)
  test(`${is ? "no container runs" : "a container may run"} in ${name}`, () =>
    expect(isStopped(given, "etcd")).toBe(is));
