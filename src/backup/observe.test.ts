import { createServer, type Server } from "node:http";
import { expect, test } from "vitest";
import { WarningsReader } from "#agent-job/warnings.ts";
import { backupController, backupKeysFor } from "#backup/controller.ts";
import { type BackupReads, observeBackup, type Readers } from "#backup/observe.ts";
import { ProgressReader } from "#backup/progress.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { claim, cluster, NOW } from "#kit/snapshots/cluster.ts";
import {
  agentPod,
  attempt,
  backup,
  check,
  endedPod,
  FULL,
  IMAGE,
  removal,
  stored,
  verification,
  verified,
} from "#kit/snapshots/etcd-backup.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject, Pod, Ref } from "#kube/kinds.ts";

const KEY = { namespace: "foo", name: "nightly" };
const signal = new AbortController().signal;
const answer = { phase: "Copying", bytesRead: 1, bytesStored: 1, bytesExpected: 2, since: "2026-01-01T11:59:55Z" };

interface World {
  readonly snapshot?: BackupSnapshot;
  readonly pods?: readonly Pod[];
  /** Claims of members. */
  readonly claims?: readonly KubeObject[];
  /** Events on the API server. */
  readonly list?: () => Promise<unknown>;
  /** Claim on the API server; default: none. */
  readonly find?: () => Promise<Observed<unknown>>;
  readonly nowMs?: number;
  /** How many backups may run; nine do. */
  readonly most?: number;
  /** Answer of the agent. */
  readonly ask?: () => Promise<string>;
}

async function look(world: World = {}) {
  const { taking, removing, verifying, checking, backup: its } = world.snapshot ?? backup();
  const asked: unknown[] = [];
  const listed: unknown[] = [];
  const view = (objects: readonly (KubeObject | undefined)[]) => ({
    get: ({ name }: Ref) => objects.find((each) => each?.metadata.name === name),
    byIndex: (_index: string, value: string) => (["foo/nightly", "foo/daily"].includes(value) ? objects : []),
  });
  const reads = {
    backups: view([its]),
    clusters: view([cluster().cluster]),
    claims: view(world.claims ?? []),
    jobs: view([taking?.job, removing?.job, verifying?.job, checking?.job]),
    pods: view(world.pods ?? [...(taking?.pods ?? []), ...(removing?.pods ?? []), ...(checking?.pods ?? [])]),
    kube: {
      find: world.find ?? (() => Promise.resolve(absent)),
      list: (_: unknown, query: unknown) => {
        listed.push(query);
        return (world.list ?? (() => Promise.resolve({ items: [] })))();
      },
    },
    clock: { wallMs: () => world.nowMs ?? NOW },
    imageRepository: "registry.example/etcd",
    agentImage: IMAGE,
  } as unknown as BackupReads;
  const warnings = new WarningsReader(reads.kube, new FakeClock());
  const progress = new ProgressReader(new FakeClock(), (address) => {
    asked.push(address);
    return (world.ask ?? (() => Promise.resolve(JSON.stringify(answer))))();
  });
  const { most = 20 } = world;
  const turns = { running: (namespace: string) => ({ all: 9, inNamespace: namespace.length, most }) };
  const seen = await observeBackup(reads, { progress, warnings, turns }, KEY, signal);
  return { asked, listed, seen: seen.is === "present" ? seen.value : undefined };
}

test("the backup's own Jobs and pods are observed, and the running agent is asked for its progress", async () => {
  const { seen, asked, listed } = await look();
  const expected = { ...backup({ with: { running: undefined } }), progress: answer };
  expect(seen).toMatchObject({ ...expected, cluster: { metadata: { name: "my-etcd" } } });
  expect(asked).toEqual(["10.0.0.9:8080"]);
  expect(listed).toEqual([]);
});

test("running backups are counted for a backup that has not started, and for no other", async () => {
  const running = async (snapshot: BackupSnapshot) => (await look({ snapshot })).seen?.running;
  expect(await running(backup({ stage: "new" }))).toEqual({ all: 9, inNamespace: "foo".length, most: 20 });
  const archive = backup({ stage: "new", spec: { archive: {} } });
  for (const other of [backup(), backup({ stage: "new", status: { phase: "Failed" } }), archive])
    expect(await running(other)).toBeUndefined();
});

test("an EtcdBackup that does not exist is observed as absent", async () => {
  const reads = { backups: { get: () => undefined } } as unknown as BackupReads;
  expect(await observeBackup(reads, {} as Readers, KEY, signal)).toEqual({ is: "absent" });
});

test("an EtcdCluster is not read without spec.source.cluster", async () => {
  const snapshot = backup({ spec: { source: { external: { endpoints: ["http://my-etcd:2379"] } } } });
  expect((await look({ snapshot })).seen?.cluster).toBeUndefined();
});

test("pods are matched to Jobs by controller uid, and a running pod without its Job is an orphan", async () => {
  const base = backup({ stage: "succeeded", spec: { deletionPolicy: "Delete" }, deleting: true, held: true });
  const snapshot = { ...base, removing: removal(base, "running") };
  const { job } = attempt(backup(), "running");
  const gone = { ...job, metadata: { ...job.metadata, uid: "gone" } };
  const orphan = agentPod(gone, { phase: "Running" }, { running: {} }, { uid: "orphan" });
  const pods = [...snapshot.taking!.pods, ...snapshot.removing.pods, orphan, endedPod(gone, 1, FULL)];
  const { seen, asked } = await look({ snapshot, pods });
  expect(seen?.taking?.pods).toEqual(snapshot.taking?.pods);
  expect(seen?.removing?.pods).toEqual(snapshot.removing.pods);
  expect(seen?.orphans).toEqual([orphan]);
  expect(asked).toEqual(["10.0.0.9:8080"]); // the deletion Job's pod
});

const onVolume = (claimName: string, stage: "new" | "running" = "new") =>
  backup({ stage, spec: { destination: { volume: { claimName } } } });

test("the destination claim is read from the API server when the backup may need a Job, and only then", async () => {
  const its = claim("c-0");
  const find = () => Promise.resolve(present(its));
  const read = async (snapshot: BackupSnapshot, most = 20) => (await look({ snapshot, find, most })).seen?.claim;
  expect(await read(onVolume("c-0"))).toBe(its);
  expect((await look({ snapshot: onVolume("c-0") })).seen?.claim).toBeUndefined();
  expect(await read(onVolume("c-0"), 9)).toBeUndefined(); // other backups run first
  expect(await read(onVolume("c-0", "running"))).toBeUndefined();
  const members = await look({ snapshot: onVolume("c-0", "running"), claims: [its], find });
  expect(members.seen?.claim).toBe(its); // The pod may not have mounted it yet.
  const ended = onVolume("c-0");
  expect(await read({ ...ended, backup: { ...ended.backup, status: { phase: "Completed" } } })).toBeUndefined();
  expect(await read(backup({ stage: "new" }))).toBeUndefined();
  const deaf = await look({ snapshot: onVolume("c-0"), find: () => Promise.resolve(unknown("no answer")) });
  expect(deaf.seen).toBeUndefined();
});

test("the destination claim is read from the API server before the verification Job exists", async () => {
  const find = () => Promise.resolve(present({ ...claim("c-0"), kind: "live" }));
  const on = verified({ spec: { destination: { volume: { claimName: "c-0" } } } });
  expect((await look({ snapshot: on, find })).seen?.claim?.kind).toBe("live");
  const during = { ...on, verifying: verification(on, "running") };
  expect((await look({ snapshot: during, find })).seen?.claim).toBeUndefined();
  const quiet = verified({ spec: { destination: { volume: { claimName: "c-0" } }, verification: { mode: "None" } } });
  expect((await look({ snapshot: quiet, find })).seen?.claim).toBeUndefined();
});

test("the verification Job and its pod are observed, with Kubernetes' warnings", async () => {
  const base = verified();
  const snapshot = { ...base, verifying: verification(base, "starting") };
  const pods = [...snapshot.taking!.pods, ...snapshot.verifying.pods];
  const { seen, listed } = await look({ snapshot, pods, list: events, nowMs: MADE_MS + 5_000 });
  expect(seen?.verifying).toEqual(snapshot.verifying);
  expect([seen?.taking?.pods, seen?.orphans]).toEqual([snapshot.taking?.pods, []]);
  const uid = snapshot.verifying.pods[0]?.metadata.uid;
  expect(listed).toMatchObject([{ fieldSelector: `regarding.uid=${uid},type=Warning` }]);
  const running = { ...base, verifying: verification(base, "running") };
  const at = { snapshot: running, pods: running.verifying.pods, list: events, nowMs: MADE_MS + 5_000 };
  expect((await look(at)).listed).toEqual([]);
});

test.each([
  ["my-etcd-3", "my-etcd"],
  ["my-etcd-03", undefined],
  ["my-etcd", undefined],
  ["other-3", undefined],
  ["backups", undefined],
])("the destination claim %s has the name of a member of EtcdCluster %s", async (claimName, name) => {
  expect((await look({ snapshot: onVolume(claimName) })).seen?.namesake?.metadata.name).toBe(name);
});

test("a backup to a bucket has no cluster with a member that could use its claim", async () => {
  expect((await look()).seen?.namesake).toBeUndefined();
});

const MADE_MS = Date.parse("2026-01-01T11:59:50Z");
const events = () =>
  Promise.resolve({
    items: [
      { note: "second", deprecatedLastTimestamp: "2026-01-01T11:59:52Z" },
      { note: "first", series: { lastObservedTime: "2026-01-01T11:59:55.000000Z" } },
      { note: "fourth", eventTime: "2026-01-01T11:59:50.000000Z" },
      { reason: "Third", eventTime: "2026-01-01T11:59:51.000000Z" },
    ],
  });

test("warnings about the Job, or about its pod when one exists, are read while no pod runs", async () => {
  const made = await look({ snapshot: backup({ stage: "made" }), list: events, nowMs: MADE_MS + 5_000 });
  const { job } = attempt(backup(), "made");
  expect(made.listed).toEqual([{ namespace: "foo", fieldSelector: `regarding.uid=${job.metadata.uid},type=Warning` }]);
  expect(made.seen?.warnings).toEqual(["first", "second", "Third"]);
  const starting = await look({ snapshot: backup({ stage: "starting" }), list: events, nowMs: MADE_MS + 5_000 });
  expect(starting.listed).toMatchObject([{ fieldSelector: "regarding.uid=uid-of-pod-of-nightly,type=Warning" }]);
  expect(starting.asked).toEqual([]);
});

test("no warnings are read for a Job that is younger than five seconds, running or ended", async () => {
  expect((await look({ snapshot: backup({ stage: "made" }), list: events, nowMs: MADE_MS + 4_999 })).listed).toEqual(
    [],
  );
  for (const stage of ["running", "succeeded", "new"] as const)
    expect((await look({ snapshot: backup({ stage }), list: events, nowMs: MADE_MS + 60_000 })).listed).toEqual([]);
});

/** A minute and a second after the end of the Job. */
const OVERDUE_MS = Date.parse("2026-01-01T12:01:00Z");

test.each([
  ["has succeeded, is past the wait, and has no cached pod", "succeeded", []],
  ["has failed, and has a cached attempt", "failed", undefined],
] as const)("pods of a Job that %s are read from the API server with their reports", async (_, stage, pods) => {
  const snapshot = backup({ stage });
  const { job, pods: live } = snapshot.taking!;
  const world = { snapshot, nowMs: OVERDUE_MS, ...(pods === undefined ? {} : { pods }) };
  const stranger = { ...live[0]!, metadata: { ...live[0]!.metadata, ownerReferences: [] } };
  const { seen, listed } = await look({ ...world, list: () => Promise.resolve({ items: [stranger, ...live] }) });
  const labelSelector = `batch.kubernetes.io/controller-uid=${job.metadata.uid}`;
  expect(listed).toEqual([{ namespace: "foo", labelSelector }]);
  expect(seen?.taking).toEqual({ job, pods: live });
  expect((await look({ ...world, list: () => Promise.resolve({ items: [] }) })).seen?.taking?.pods).toEqual([]);
  // A failed request yields no final status.
  const dark = () => Promise.reject(new OperatorError("KubeUnavailable", "no"));
  expect((await look({ ...world, list: dark })).seen).toBeUndefined();
  // Nothing is read for a status that is final.
  for (const phase of ["Completed", "Failed"] as const)
    expect((await look({ ...world, snapshot: backup({ stage, status: { phase } }) })).listed).toEqual([]);
  // Nothing is read for a backup that is being deleted, which may wait for a user for days.
  expect((await look({ ...world, snapshot: backup({ stage, deleting: true, held: true }) })).listed).toEqual([]);
});

test("pods of an ended verification Job are read from the API server until its result is final", async () => {
  const status = { phase: "Completed" } as const;
  const given = backup({ stage: "succeeded", spec: { verification: { mode: "Restore" } }, status });
  const over = verification(given, "failed");
  const listedOf = async (of: BackupSnapshot) => (await look({ snapshot: of, nowMs: OVERDUE_MS })).listed;
  expect(await listedOf({ ...given, verifying: over })).toHaveLength(1);
  const condition = { type: "Verified", status: "False" as const, reason: "R", message: "m", observedGeneration: 1, lastTransitionTime: "2026-01-01T12:00:00Z" }; // biome-ignore format: one line
  const known = { ...given, backup: { ...given.backup, status: { ...status, conditions: [condition] } } };
  expect(await listedOf({ ...known, verifying: over })).toEqual([]);
});

test("a backup is observed even when Kubernetes' events cannot be read", async () => {
  const fail = (code: "KubeForbidden" | "Cancelled") => () => Promise.reject(new OperatorError(code, "no"));
  const world = { snapshot: backup({ stage: "made" }), nowMs: MADE_MS + 60_000 } as const;
  expect((await look({ ...world, list: fail("KubeForbidden") })).seen?.warnings).toEqual([]);
  await expect(look({ ...world, list: fail("Cancelled") })).rejects.toMatchObject({ code: "Cancelled" });
});

test("warnings about a pod are read every thirty seconds at most, and at once for another pod", async () => {
  const clock = new FakeClock();
  let listed = 0;
  const list = () => {
    listed += 1;
    return Promise.resolve({ items: [{ note: `warning ${listed}` }], resourceVersion: "1" });
  };
  const reader = new WarningsReader({ list } as never, clock);
  const [pod] = attempt(backup(), "starting").pods;
  const other = { ...pod!, metadata: { ...pod!.metadata, uid: "other" } };
  expect(await reader.of(pod!, signal)).toEqual(["warning 1"]);
  await clock.advance(29_999);
  expect(await reader.of(pod!, signal)).toEqual(["warning 1"]);
  expect(await reader.of(other, signal)).toEqual(["warning 2"]);
  await clock.advance(1);
  expect(await reader.of(pod!, signal)).toEqual(["warning 3"]);
});

test("a backup has no progress while its agent does not answer, or answers other text", async () => {
  expect((await look({ ask: () => Promise.reject(new Error("no route")) })).seen?.progress).toBeUndefined();
  expect((await look({ ask: () => Promise.resolve("<html>") })).seen?.progress).toBeUndefined();
});

test("an agent is asked for progress every five seconds at most, and another agent at once", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const reader = new ProgressReader(clock, () => {
    asked += 1;
    return Promise.resolve(JSON.stringify({ ...answer, bytesRead: asked }));
  });
  const [pod] = attempt(backup(), "running").pods;
  const other = { ...pod!, metadata: { ...pod!.metadata, uid: "other" } };
  expect((await reader.of(pod!, signal))?.bytesRead).toBe(1);
  await clock.advance(4_999);
  expect((await reader.of(pod!, signal))?.bytesRead).toBe(1);
  expect((await reader.of(other, signal))?.bytesRead).toBe(2);
  await clock.advance(1);
  expect((await reader.of(pod!, signal))?.bytesRead).toBe(3);
  const noAddress = agentPod(attempt(backup(), "running").job, { phase: "Running" }, { running: {} }, { uid: "new" });
  expect(await reader.of(noAddress, signal)).toBeUndefined();
  expect(asked).toBe(3);
});

/** Serves on a port of its own; the reader uses a fixed port, so this calls the default function directly. */
async function served(body: string, delayMs: number): Promise<Server> {
  const server = createServer((_request, response) => {
    setTimeout(() => response.end(body), delayMs);
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(8080, "127.0.0.77", done));
  return server;
}

// The deadline is one second, and a busy machine may stall.
test.each([
  ["answers reports its progress", JSON.stringify(answer), 0, answer],
  ["answers more than the limit is ignored", JSON.stringify({ ...answer, more: "x".repeat(10_000) }), 0, undefined],
  ["answers after the deadline is ignored", JSON.stringify(answer), 5_000, undefined],
])("over HTTP, an agent that %s", { retry: 2 }, async (_, body, delayMs, expected) => {
  const server = await served(body, delayMs);
  try {
    const [pod] = attempt(backup(), "running").pods;
    const at = { ...pod!, status: { ...pod!.status, podIP: "127.0.0.77" } } as Pod;
    expect(await new ProgressReader(new FakeClock()).of(at, signal)).toEqual(expected);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

test("a change of a Job or pod triggers its EtcdBackup by label or owner", () => {
  const { job, pods } = attempt(backup(), "running");
  expect(backupKeysFor(job)).toEqual([KEY]);
  expect(backupKeysFor(pods[0]!)).toEqual([KEY]);
  expect(backupKeysFor({ ...job, metadata: { ...job.metadata, labels: {} } })).toEqual([KEY]);
  expect(backupKeysFor({ ...pods[0]!, metadata: { ...pods[0]!.metadata, labels: {} } })).toEqual([]);
});

test("the end of a backup is reported once, and an unchanged status is not written", async () => {
  const ended: unknown[] = [];
  let writes = 0;
  const kube = {
    replace: (_: unknown, object: unknown) => {
      writes += 1;
      return Promise.resolve(object);
    },
  };
  const controller = backupController(kube as never, { clock: new FakeClock() } as never, (status) =>
    ended.push(status.phase),
  );
  const [open, over] = [backup({ status: { phase: "BackingUp" } }), backup({ status: { phase: "Completed" } })];
  await controller.writeStatus(open, { phase: "BackingUp" }, signal);
  expect([writes, ended]).toEqual([0, []]);
  await controller.writeStatus(open, { phase: "BackingUp", source: "a" }, signal);
  expect([writes, ended]).toEqual([1, []]);
  await controller.writeStatus(open, { phase: "Completed" }, signal);
  expect([writes, ended]).toEqual([2, ["Completed"]]);
  await controller.writeStatus(over, { phase: "Completed", source: "a" }, signal);
  expect([writes, ended]).toEqual([3, ["Completed"]]);
  const known = { get: ({ name }: Ref) => (name === "nightly" ? open.backup : undefined) };
  const knowing = backupController(kube as never, { clock: new FakeClock(), backups: known } as never);
  expect(knowing.subjectOf(KEY)).toEqual(controller.subject(open));
  expect(await knowing.writeFailing(KEY, "Bug: x", signal)).toMatchObject({
    object: { status: { conditions: [{ reason: "InternalError" }, { type: "Ready" }] } },
  });
  const gone = { ...KEY, name: "gone" };
  expect([knowing.subjectOf(gone), await knowing.writeFailing(gone, "Bug: x", signal)]).toEqual([undefined, undefined]);
  expect(controller.subject(open)).toMatchObject({
    kind: "EtcdBackup",
    name: "nightly",
    apiVersion: "etcd.improbable.io/v1beta1",
  });
});

test("the Jobs of backups and of checks share the places, and routine steps of checks make no event", async () => {
  const kube = {
    get: () => Promise.resolve(stored().backup),
    create: (_: unknown, draft: KubeObject) => Promise.resolve(draft),
  };
  const nothing = { byIndex: () => [], get: () => undefined };
  const reads = { clock: new FakeClock(), jobs: nothing, backups: nothing, runningBackups: 1 };
  const controller = backupController(kube as never, reads as never);
  const job = check(stored(), "new").job;
  const act = () => controller.act({ do: "createCheckJob", job }, stored(), signal);
  expect(await act()).toMatchObject({ kind: "stored" });
  await expect(act()).rejects.toMatchObject({ code: "KubeConflict" });
  const another = backup({ stage: "new", with: { takenAtMs: Date.parse("2026-01-01T11:59:01Z") } });
  const first = controller.act({ do: "createJob", job: attempt(another, "new").job }, another, signal);
  await expect(first).rejects.toMatchObject({ code: "KubeConflict" });
  const isRoutine = (rule: string) => controller.isRoutine?.(rule, { do: "createCheckJob", job }, stored());
  expect(["check-object", "clear-check", "create-job"].map(isRoutine)).toEqual([true, true, false]);
});

test("the Job of the daily check is observed with its pod, which is no orphan", async () => {
  const snapshot = { ...stored(), checking: check(stored(), "running") };
  const { seen } = await look({ snapshot });
  expect(seen?.checking).toEqual(snapshot.checking);
  expect([seen?.orphans, seen?.isNewest, seen?.running]).toEqual([[], true, undefined]);
});

test("running backups are counted for a check that is due", async () => {
  expect((await look({ snapshot: stored() })).seen?.running).toMatchObject({ all: 9 });
  const checked = stored({ status: { objectCheck: { time: "2026-01-01T12:00:00Z" } } });
  expect((await look({ snapshot: checked })).seen?.running).toBeUndefined();
});

test("the claim is read from the API server for a check that is due", async () => {
  const find = () => Promise.resolve(present(claim("c-0")));
  const snapshot = stored({ spec: { destination: { volume: { claimName: "c-0" } } } });
  const taken = { ...snapshot, taking: attempt(snapshot, "succeeded") };
  expect((await look({ snapshot: taken, find })).seen?.claim).toEqual(claim("c-0"));
  const checked = { ...taken, checking: check(snapshot, "running") };
  expect((await look({ snapshot: checked, find })).seen?.claim).toBeUndefined();
});

test("the pods of a failed check are read from the API server until its result is recorded", async () => {
  const snapshot = { ...stored(), checking: check(stored(), "failed", FULL) };
  expect((await look({ snapshot })).listed).toHaveLength(1);
  const objectCheck = { time: "2026-01-01T12:00:00Z", jobUID: snapshot.checking.job.metadata.uid };
  const recorded = { ...snapshot, backup: stored({ status: { objectCheck } }).backup };
  expect((await look({ snapshot: recorded })).listed).toEqual([]);
});

test("an unanswered request for the pods of a check makes the backup unknown", async () => {
  const snapshot = { ...stored(), checking: check(stored(), "failed", FULL) };
  const list = () => Promise.reject(new OperatorError("KubeUnavailable", "no answer"));
  expect((await look({ snapshot, list })).seen).toBeUndefined();
});
