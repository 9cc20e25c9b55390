import { expect, test } from "vitest";
import type { AgentReport } from "#agent/report.ts";
import type { AgentTask } from "#agent/task.ts";
import { WarningsReader } from "#agent-job/warnings.ts";
import { BACKUP_LABEL, SCHEDULE_LABEL } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { BackupWrites } from "#backup/act.ts";
import { backupController } from "#backup/controller.ts";
import type { BackupReads } from "#backup/observe.ts";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { agentPod, available, DONE, endedPod, etcdBackup, GONE, IMAGE, SAME } from "#kit/snapshots/etcd-backup.ts";
import { answered } from "#kit/tables/answered.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { controllerOf, JOBS, type Job, type KubeObject, PODS, type Pod, type Ref, type Resource } from "#kube/kinds.ts";
import type { Written } from "#runtime/controller.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { Pass } from "#runtime/pass.ts";

// The operator dies before or after each of its writes, or lives and does not receive the answer.
// A new process continues from the state of the API server, and the end is the same.

const KEY = { namespace: "foo", name: "nightly" };
const signal = new AbortController().signal;
const START_MS = Date.parse("2026-01-01T12:00:00Z");

/** A fault at the nth attempt to write, from 1. With `lost` the write is made, and its answer is lost. */
interface Fault {
  readonly at: number;
  readonly is: "before" | "after" | "lost";
}

/** Reports of agents that have done their task. */
const REPORTS: Readonly<Record<string, AgentReport>> = {
  backup: DONE,
  delete: { ok: true, kind: "delete", deleted: true },
  verify: SAME,
  check: { ok: true, kind: "check" },
};

function taskOf({ spec }: Job): AgentTask {
  return JSON.parse(spec?.template.spec?.containers[0]?.env?.[0]?.value ?? "") as AgentTask;
}

/** The pod, with its container named as in the Job. */
function withWorkerOf({ spec }: Job, pod: Pod): Pod {
  const name = spec?.template.spec?.containers[0]?.name ?? "";
  const containerStatuses = pod.status?.containerStatuses?.map((each) => ({ ...each, name })) ?? [];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

type Finalized = KubeObject & { metadata: { finalizers?: readonly string[]; deletionTimestamp?: string } };

/** API server, Job controller, kubelet, garbage collector and store, as far as a backup uses them. */
class World {
  readonly clock = new FakeClock(START_MS);
  readonly objects = new Map<string, Finalized>();
  /** Keys in the store. */
  readonly stored = new Set<string>();
  /** All writes in order. Equal words stand for equal writes. */
  readonly writes: string[] = [];
  readonly fault: Fault | undefined;
  tries = 0;
  isDead = false;
  /** No pod of a Job starts, for example because a Secret is missing. */
  areStuck = false;
  #version = 1_000;

  constructor(fault: Fault | undefined) {
    this.fault = fault;
  }

  get backup(): EtcdBackup | undefined {
    return this.find<EtcdBackup>("etcdbackups", KEY.name);
  }

  find<T extends KubeObject>(plural: string, name: string): T | undefined {
    return this.objects.get(`${plural}/${name}`) as unknown as T | undefined;
  }

  all<T extends KubeObject>(plural: string): readonly T[] {
    return [...this.objects].flatMap(([key, object]) => (key.startsWith(`${plural}/`) ? [object as unknown as T] : []));
  }

  put(plural: string, object: KubeObject): KubeObject {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.objects.set(`${plural}/${object.metadata.name}`, stored as Finalized);
    return stored;
  }

  /** A person deletes the EtcdBackup. @returns whether it existed and was not being deleted yet */
  remove(): boolean {
    const { backup } = this;
    if (backup === undefined || backup.metadata.deletionTimestamp !== undefined) return false;
    this.put("etcdbackups", { ...backup, metadata: { ...backup.metadata, deletionTimestamp: "2026-01-01T13:00:00Z" } });
    this.#collect();
    return true;
  }

  /** The API as the current process can use it until it dies. */
  client(): BackupWrites & Pick<BackupReads["kube"], "list"> {
    const change = (what: string, result: () => KubeObject | undefined) => {
      if (this.isDead) throw new OperatorError("LeaseLost", "this process is dead");
      this.tries += 1;
      const fault = this.tries === this.fault?.at ? this.fault.is : undefined;
      this.isDead = fault === "before" || fault === "after";
      if (fault === "before") throw new OperatorError("LeaseLost", "this process has died");
      const made = result();
      this.writes.push(what);
      this.#collect();
      if (fault !== undefined) throw new OperatorError("KubeUnavailable", "the answer is lost");
      return Promise.resolve(made);
    };
    const needSame = (
      plural: string,
      name: string,
      { uid, resourceVersion }: { uid?: string; resourceVersion?: string },
    ) => {
      const live = this.objects.get(`${plural}/${name}`);
      if (live === undefined) throw new OperatorError("KubeNotFound", `${name} is gone`);
      const isSame = (uid ?? live.metadata.uid) === live.metadata.uid && (resourceVersion ?? live.metadata.resourceVersion) === live.metadata.resourceVersion; // biome-ignore format: one question
      if (!isSame) throw new OperatorError("KubeConflict", `${name} has changed`);
      return live;
    };
    const client = {
      list: ({ plural }: Resource<KubeObject>) =>
        Promise.resolve({ items: plural === PODS.plural ? this.all(plural) : [], resourceVersion: "1" }),
      find: ({ plural }: Resource<KubeObject>, { name }: Ref) => Promise.resolve(this.#seen(plural, name)),
      get: ({ plural }: Resource<KubeObject>, { name }: Ref) => answered(this.#seen(plural, name)),
      create: ({ plural }: Resource<KubeObject>, draft: KubeObject) =>
        change(`create ${draft.metadata.name}`, () => {
          if (this.find(plural, draft.metadata.name) !== undefined)
            throw new OperatorError("KubeAlreadyExists", "the object exists");
          const metadata = { ...draft.metadata, uid: `uid-${this.#version}`, creationTimestamp: this.#now() };
          return this.put(plural, { ...draft, metadata });
        }),
      replace: ({ plural }: Resource<KubeObject>, object: EtcdBackup) =>
        change(`status ${object.status?.phase} ${object.status?.conditions?.map(({ reason }) => reason)}`, () => {
          const live = needSame(plural, object.metadata.name, object.metadata) as unknown as EtcdBackup;
          return this.put(plural, { ...live, status: object.status } as EtcdBackup);
        }),
      patch: (
        { plural }: Resource<KubeObject>,
        { name }: Ref,
        patch: { metadata: object },
        options: { preconditions: object },
      ) =>
        change(`patch ${JSON.stringify(patch)}`, () => {
          const live = needSame(plural, name, options.preconditions);
          return this.put(plural, { ...live, metadata: { ...live.metadata, ...patch.metadata } } as KubeObject);
        }),
      delete: ({ plural }: Resource<KubeObject>, { name }: Ref, options: { preconditions: object }) =>
        change(`delete ${name}`, () => {
          needSame(plural, name, options.preconditions);
          this.#outrun(name);
          this.objects.delete(`${plural}/${name}`);
          return undefined;
        }),
    };
    return client as unknown as BackupWrites & Pick<BackupReads["kube"], "list">;
  }

  #seen(plural: string, name: string): Observed<KubeObject> {
    const live = this.find(plural, name);
    return live === undefined ? absent : present(live);
  }

  /** A step of Kubernetes: pods are created, run, and end. */
  goOn(): void {
    for (const job of this.all<Job>(JOBS.plural)) {
      const pod = this.all<Pod>("pods").find((each) => controllerOf(each)?.uid === job.metadata.uid);
      if (pod === undefined) {
        const metadata = { name: `${job.metadata.name}-pod`, uid: `pod-of-${job.metadata.uid}` };
        const [status, state] = this.areStuck
          ? [{ phase: "Pending" }, { waiting: { reason: "ContainerCreating" } }]
          : [{ phase: "Running" }, { running: { startedAt: this.#now() } }];
        this.put("pods", withWorkerOf(job, agentPod(job, status, state, metadata)));
      }
      if (pod?.status?.phase === "Running") this.#end(job, pod);
    }
    this.#collect();
  }

  /** The agent stores its object just before its Job is deleted. */
  #outrun(name: string): void {
    const job = this.find<Job>(JOBS.plural, name);
    const pod = this.all<Pod>("pods").find((each) => controllerOf(each)?.uid === job?.metadata.uid);
    if (job === undefined || pod?.status?.phase !== "Running") return;
    const task = taskOf(job);
    if (task.kind === "backup") this.stored.add(task.key);
  }

  #end(job: Job, pod: Pod): void {
    const task = taskOf(job);
    if (task.kind === "backup") this.stored.add(task.key);
    if (task.kind === "delete") this.stored.delete(task.key);
    const isGone = task.kind === "check" && !this.stored.has(task.key);
    const ended = isGone ? endedPod(job, 2, GONE) : endedPod(job, 0, REPORTS[task.kind] ?? DONE);
    this.put("pods", { ...withWorkerOf(job, ended), metadata: pod.metadata } as Pod);
    const condition = { type: isGone ? "Failed" : "Complete", status: "True" };
    this.put(JOBS.plural, { ...job, status: { conditions: [condition] } } as Job);
  }

  /** Removes deleted objects without finalizers, and everything that they own. */
  #collect(): void {
    for (const [key, { metadata }] of this.objects)
      if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0)
        this.objects.delete(key);
    const uids = new Set([...this.objects.values()].map(({ metadata }) => metadata.uid));
    for (const [key, object] of this.objects) {
      const owner = controllerOf(object);
      if (owner !== undefined && !uids.has(owner.uid)) this.objects.delete(key);
    }
  }

  #now(): string {
    return new Date(this.clock.wallMs()).toISOString();
  }
}

/** A new process of the operator, with nothing left of the previous one. */
function operator(world: World): () => Promise<void> {
  const kube = world.client();
  const view = (plural: string) => ({
    get: ({ name }: Ref) => world.find(plural, name),
    byIndex: () => world.all(plural).filter(({ metadata }) => metadata.labels?.[BACKUP_LABEL] === KEY.name),
  });
  const reads = {
    backups: view("etcdbackups"),
    clusters: { get: () => available() },
    claims: view("persistentvolumeclaims"),
    jobs: view(JOBS.plural),
    pods: view("pods"),
    kube,
    clock: world.clock,
    imageRepository: "registry.example/etcd",
    agentImage: IMAGE,
    runningBackups: 1,
  } as unknown as BackupReads;
  const controller = backupController(kube, reads, () => undefined, {
    progress: { of: () => Promise.resolve(undefined) },
    warnings: new WarningsReader(kube, world.clock),
  });
  const seen = { expect: (_: unknown, __: Written) => undefined, refused: () => undefined, unmet: () => undefined };
  const tools = {
    clock: world.clock,
    log: silentLog,
    metrics: createMetrics(),
    expectations: seen as never,
    publish: () => undefined,
    mayAct: () => !world.isDead,
  };
  const pass = new Pass(controller, tools);
  return async () => void (await pass.run(KEY, signal));
}

interface Scenario {
  readonly name: string;
  readonly spec: object;
  /** The schedule that made the EtcdBackup. */
  readonly schedule?: string;
  /** A day passes when the backup is Completed, after this has happened. */
  readonly beforeNextDay?: (world: World) => void;
  /** No pod of a Job starts. */
  readonly areStuck?: boolean;
  /** After the operator's death no new one starts until a person deletes the EtcdBackup. */
  readonly isLeftAlone?: boolean;
  /** Condition on which a person deletes the EtcdBackup. */
  readonly deletesWhen?: (world: World) => boolean;
  readonly mustWrite: readonly string[];
  readonly end: (world: World) => void;
}

const phaseOf = (world: World) => world.backup?.status?.phase;
const scenarios: Scenario[] = [
  {
    name: "a backup",
    spec: {},
    mustWrite: ["create nightly", "status Completed Completed,Completed,Completed"],
    end: (world) => {
      expect(world.backup?.status).toMatchObject({ phase: "Completed", object: { revision: "12" } });
      expect([...world.stored]).toEqual([world.backup?.status?.objectKey]);
      expect(world.all(JOBS.plural)).toHaveLength(1);
    },
  },
  {
    name: "a backup that is deleted together with its object",
    spec: { deletionPolicy: "Delete" },
    deletesWhen: (world) => phaseOf(world) === "Completed",
    mustWrite: [
      'patch {"metadata":{"finalizers":["etcdbackup.etcd.improbable.io/object-cleanup"]}}',
      "create nightly",
      "create delete-0123456789-uid-of-backup",
      'patch {"metadata":{"finalizers":[]}}',
    ],
    end: (world) => {
      expect(world.stored.size).toBe(0);
      expect([...world.objects.keys()]).toEqual([]);
    },
  },
  {
    name: "a backup that is deleted while its agent runs",
    spec: { deletionPolicy: "Delete" },
    deletesWhen: (world) => world.all("pods").length > 0,
    mustWrite: ["create nightly", "delete nightly", "create delete-0123456789-uid-of-backup"],
    end: (world) => {
      expect(world.stored.size).toBe(0);
      expect([...world.objects.keys()]).toEqual([]);
    },
  },
  {
    name: "a backup that is deleted while its agent runs and the operator is down",
    spec: { deletionPolicy: "Delete" },
    isLeftAlone: true,
    deletesWhen: (world) => world.all("pods").length > 0 || world.clock.wallMs() > START_MS + 5_000,
    mustWrite: ["create nightly", "delete nightly", "create delete-0123456789-uid-of-backup"],
    end: (world) => {
      expect(world.stored.size).toBe(0);
      expect([...world.objects.keys()]).toEqual([]);
    },
  },
  {
    name: "a backup that is deleted while its pod waits for a Secret",
    spec: { deletionPolicy: "Delete" },
    areStuck: true,
    deletesWhen: (world) => world.all("pods").length > 0,
    mustWrite: ["create nightly", "delete nightly", 'patch {"metadata":{"finalizers":[]}}'],
    end: (world) => {
      expect(world.writes).not.toContain("create delete-0123456789-uid-of-backup");
      expect([...world.objects.keys()]).toEqual([]);
    },
  },
  {
    name: "a backup that is verified",
    spec: { verification: { mode: "Restore" } },
    mustWrite: ["create nightly", "create verify-0123456789-uid-of-backup"],
    end: (world) => {
      const { verification, conditions } = world.backup?.status ?? {};
      expect(verification).toMatchObject({ jobName: "verify-0123456789-uid-of-backup", revision: "12", keys: 7 });
      expect(conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
        "Complete True",
        "Failed False",
        "Ready True",
        "Verified True",
      ]);
      expect(world.all(JOBS.plural)).toHaveLength(2);
    },
  },
  {
    name: "a backup that is deleted while it is verified",
    spec: { verification: { mode: "Restore" }, deletionPolicy: "Delete" },
    deletesWhen: (world) => world.find(JOBS.plural, "verify-0123456789-uid-of-backup") !== undefined,
    mustWrite: ["create verify-0123456789-uid-of-backup", "create delete-0123456789-uid-of-backup"],
    end: (world) => {
      expect(world.stored.size).toBe(0);
      expect([...world.objects.keys()]).toEqual([]);
    },
  },
];

const CHECK = "check-0123456789-uid-of-backup";
const ofSchedule = { spec: {}, schedule: "daily", mustWrite: ["create nightly", `create ${CHECK}`, `delete ${CHECK}`] };
/** The Job of the check is deleted, and so is that of the backup, after a day. */
const endsChecked = (world: World, found: string, ready: string) => {
  const { phase, objectCheck, conditions } = world.backup?.status ?? {};
  expect([phase, objectCheck?.message]).toEqual(["Completed", undefined]);
  const is = (wanted: string) => conditions?.find(({ type }) => type === wanted)?.status;
  expect([is("ObjectFound"), is("Ready")]).toEqual([found, ready]);
  expect(world.all(JOBS.plural)).toEqual([]);
};
scenarios.push(
  {
    ...ofSchedule,
    name: "a backup that is checked a day later",
    beforeNextDay: () => undefined,
    end: (world) => endsChecked(world, "True", "True"),
  },
  {
    ...ofSchedule,
    name: "a backup that a person deletes in the store",
    beforeNextDay: (world) => world.stored.clear(),
    end: (world) => endsChecked(world, "False", "False"),
  },
);

const ROUNDS = 40;

async function run(
  { spec, schedule, beforeNextDay, deletesWhen, areStuck = false, isLeftAlone = false }: Scenario,
  fault?: Fault,
): Promise<World> {
  const world = new World(fault);
  world.areStuck = areStuck;
  const made = etcdBackup({ spec });
  const labels = schedule === undefined ? {} : { labels: { [SCHEDULE_LABEL]: schedule } };
  world.put(ETCD_BACKUPS.plural, { ...made, metadata: { ...made.metadata, ...labels } });
  let isNextDay = false;
  let look = operator(world);
  let isAlone = false;
  for (let round = 0; round < ROUNDS; round++) {
    for (let again = 0; again < 3 && !isAlone; again++) {
      await look();
      if (!world.isDead) continue;
      world.isDead = false;
      look = operator(world);
      isAlone = isLeftAlone && world.backup !== undefined && world.backup.metadata.deletionTimestamp === undefined;
    }
    const isDeletedNow = deletesWhen?.(world) === true && world.remove();
    if (isDeletedNow) isAlone = false;
    if (!isDeletedNow) world.goOn();
    if (beforeNextDay !== undefined && !isNextDay && phaseOf(world) === "Completed") {
      isNextDay = true;
      beforeNextDay(world);
      await world.clock.advance(24 * 3_600_000);
    }
    await world.clock.advance(1_000);
  }
  return world;
}

for (const scenario of scenarios) {
  test(`crash sweep of ${scenario.name}: the outcome is the same when the operator dies at any of its writes`, async () => {
    const undisturbed = await run(scenario);
    scenario.end(undisturbed);
    expect(undisturbed.writes).toEqual(expect.arrayContaining([...scenario.mustWrite]));
    for (let at = 1; at <= undisturbed.tries; at++)
      for (const is of ["before", "after", "lost"] as const) {
        const world = await run(scenario, { at, is });
        scenario.end(world);
        // No create and no delete is repeated: the new process finds what was written.
        const made = world.writes.filter((write) => /^(create|delete) /.test(write));
        expect(made, `${is} ${undisturbed.writes[at - 1]}`).toEqual([...new Set(made)]);
      }
  });
}
