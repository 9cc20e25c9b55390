import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DELETE_OBJECT_ANNOTATION, OBJECT_FINALIZER } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { absent, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { answered } from "#kit/tables/answered.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { Pass } from "#runtime/pass.ts";
import type { ScheduleWrites } from "#schedule/act.ts";
import { scheduleController } from "#schedule/controller.ts";
import { isObjectGoing } from "#schedule/disposal.ts";
import type { ScheduleReads } from "#schedule/observe.ts";

// The schedule controller against a simulated API server, backup controller and clock.
// The operator dies after any write, caches are stale, clocks jump, and people start restores.
// No run happens twice or is lost. The last good backup stays, and so does a backup that a restore reads.

const KEY = { namespace: "foo", name: "nightly" };
const signal = new AbortController().signal;
const HOUR = 3_600_000;

type Metadata = KubeObject["metadata"] & { finalizers?: readonly string[]; deletionTimestamp?: string };
type Live = KubeObject & { metadata: Metadata };

/** A clock that a test can set. Nothing here waits for it. */
class SetClock extends FakeClock {
  passedMs = 0;
  aheadMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.passedMs + this.aheadMs;
  }

  override monotonicMs(): number {
    return super.monotonicMs() + this.passedMs;
  }
}

class World {
  readonly clock = new SetClock(NOW);
  readonly backups = new Map<string, EtcdBackup>();
  schedule: EtcdBackupSchedule;
  /** Names of all EtcdBackups that were ever created. */
  readonly made: string[] = [];
  /** Objects in the store, by the name of their EtcdBackup. */
  readonly objects = new Set<string>();
  /** Number of writes after which the operator dies. */
  diesAfter: number;
  writes = 0;
  isDead = false;
  readonly restores: EtcdRestore[] = [];
  /** Number of the live read, from 1, at which a person creates a restore: just before a write. Never with -1. */
  restoresAt = -1;
  looks = 0;
  /** Whether the schedule has been deleted. */
  isGone = false;
  /** The state that caches show, which may be stale. */
  #shown: { schedule: EtcdBackupSchedule; backups: Map<string, EtcdBackup>; restores: readonly EtcdRestore[] };
  #version = 1_000;

  constructor(spec: object, diesAfter: number) {
    const { status: _, ...fresh } = etcdBackupSchedule({ spec });
    this.schedule = { ...fresh, metadata: { ...fresh.metadata, creationTimestamp: rfc3339(NOW) } };
    this.diesAfter = diesAfter;
    this.#shown = { schedule: this.schedule, backups: new Map(), restores: [] };
  }

  get nowMs(): number {
    return this.clock.wallMs();
  }

  /** Caches catch up. */
  show(): void {
    this.#shown = { schedule: this.schedule, backups: new Map(this.backups), restores: [...this.restores] };
  }

  edit(change: object): void {
    const { metadata, spec } = this.schedule;
    const generation = (metadata.generation ?? 0) + 1;
    this.schedule = this.#stored({
      ...this.schedule,
      metadata: { ...metadata, generation },
      spec: { ...spec, ...change },
    });
  }

  /** A step of the backup controller and of the store: running backups end, deleted ones are removed. */
  goOn(phase: "Completed" | "Failed" = "Completed"): void {
    for (const [name, backup] of this.backups) {
      if (backup.metadata.deletionTimestamp !== undefined) {
        if (isObjectGoing(backup)) this.objects.delete(name);
        this.backups.delete(name);
        continue;
      }
      if (backup.status?.phase !== undefined) continue;
      if (phase === "Completed") this.objects.add(name);
      const completionTime = rfc3339(this.nowMs);
      const why = { reason: "StoreUnreachable", message: "no route", observedGeneration: 1 };
      const failed = { type: "Failed", status: "True" as const, lastTransitionTime: completionTime, ...why };
      const conditions = phase === "Failed" ? [failed] : [];
      this.backups.set(
        name,
        this.#stored({ ...backup, status: { phase, objectURL: name, completionTime, conditions } }),
      );
    }
  }

  /** A person restores from the oldest good backup, which is the next one to be deleted. */
  restore(): void {
    const [backupName] = this.good();
    if (backupName === undefined) return;
    const metadata = { namespace: KEY.namespace, name: `back-${this.restores.length}` };
    this.restores.push({ metadata, spec: { source: { backupName } } } as EtcdRestore);
  }

  /** Ends all restores. */
  restored(): void {
    for (const [n, restore] of this.restores.entries())
      this.restores[n] = { ...restore, status: { ...restore.status, phase: "Completed" } };
  }

  /** Backups that a running restore reads and that are deleted or about to be. */
  lost(): readonly string[] {
    const read = this.restores.filter(({ status }) => status === undefined).map(({ spec }) => spec.source.backupName);
    return read.filter((name) => !this.good().includes(name ?? "")).map(String);
  }

  good(): readonly string[] {
    return [...this.backups.values()].flatMap(({ metadata, status }) => (status?.phase === "Completed" && metadata.deletionTimestamp === undefined ? [metadata.name] : [])); // biome-ignore format: one question
  }

  #stored<T extends KubeObject>(object: T): T {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #live(plural: string, name: string): Live | undefined {
    return (plural === ETCD_BACKUPS.plural ? this.backups.get(name) : this.schedule) as Live | undefined;
  }

  #same(plural: string, name: string, { uid, resourceVersion }: { uid?: string; resourceVersion?: string }): Live {
    const live = this.#live(plural, name);
    if (live === undefined) throw new OperatorError("KubeNotFound", `${name} is gone`);
    const { metadata } = live;
    if ((uid ?? metadata.uid) !== metadata.uid || (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion)
      throw new OperatorError("KubeConflict", `${name} has changed`); // biome-ignore format: one question
    return live;
  }

  #change<T>(result: () => T): Promise<T> {
    if (this.isDead) throw new OperatorError("LeaseLost", "this process is dead");
    const made = result();
    this.writes += 1;
    this.isDead = this.writes === this.diesAfter;
    // A process that dies does not receive the answer.
    if (this.isDead) throw new OperatorError("KubeUnavailable", "died");
    return Promise.resolve(made);
  }

  client(): ScheduleWrites {
    const client = {
      get: ({ plural }: Resource<KubeObject>, { name }: Ref) => {
        this.looks += 1;
        if (this.looks === this.restoresAt) this.restore();
        const live = this.#live(plural, name);
        return answered(live === undefined ? absent : present(live));
      },
      create: async (_: Resource<KubeObject>, draft: EtcdBackup) =>
        await this.#change(() => {
          const { name } = draft.metadata;
          if (this.backups.has(name)) throw new OperatorError("KubeAlreadyExists", `${name} exists`);
          const uid = `uid-${this.#version}`;
          const metadata = { ...draft.metadata, uid, creationTimestamp: rfc3339(this.nowMs) };
          this.made.push(name);
          this.backups.set(name, this.#stored({ ...draft, metadata }));
          return this.backups.get(name);
        }),
      replace: async ({ plural }: Resource<KubeObject>, object: EtcdBackupSchedule) =>
        await this.#change(() => {
          const live = this.#same(plural, object.metadata.name, object.metadata) as unknown as EtcdBackupSchedule;
          this.schedule = this.#stored({ ...live, status: object.status } as EtcdBackupSchedule);
          return this.schedule;
        }),
      patch: async (
        { plural }: Resource<KubeObject>,
        { name }: Ref,
        patch: Live,
        { preconditions }: { preconditions: object },
      ) =>
        await this.#change(() => {
          const live = this.#same(plural, name, preconditions) as unknown as EtcdBackup;
          const annotations = { ...live.metadata.annotations, ...patch.metadata.annotations };
          const kept = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null));
          const metadata = { ...live.metadata, ...patch.metadata, annotations: kept };
          this.backups.set(name, this.#stored({ ...live, metadata } as EtcdBackup));
          return this.backups.get(name);
        }),
      list: ({ plural }: Resource<KubeObject>) =>
        Promise.resolve({ items: plural === "etcdrestores" ? this.restores : [] }),
      delete: async ({ plural }: Resource<KubeObject>, { name }: Ref, { preconditions }: { preconditions: object }) =>
        await this.#change(() => {
          const live = this.#same(plural, name, preconditions) as unknown as EtcdBackup;
          const isHeld = live.metadata.finalizers?.includes(OBJECT_FINALIZER) === true;
          const metadata = { ...live.metadata, deletionTimestamp: rfc3339(this.nowMs) };
          if (isHeld) this.backups.set(name, this.#stored({ ...live, metadata }));
          else this.backups.delete(name);
        }),
    };
    return client as unknown as ScheduleWrites;
  }

  /** A new process of the operator, with nothing left of the previous one. */
  operator(): () => Promise<void> {
    const reads: ScheduleReads = {
      schedules: { get: () => (this.isGone ? undefined : this.#shown.schedule), byIndex: () => [] },
      backups: { get: ({ name }) => this.#shown.backups.get(name), byIndex: () => [...this.#shown.backups.values()] },
      clusters: { get: () => undefined, byIndex: () => [] },
      restores: {
        byIndex: (_, value) =>
          this.#shown.restores.filter(({ spec }) => value === `${KEY.namespace}/${spec.source.backupName}`),
      },
      clock: this.clock,
    };
    const pass = new Pass(scheduleController(this.client(), reads), {
      clock: this.clock,
      log: silentLog,
      metrics: createMetrics(),
      expectations: { expect: () => undefined, refused: () => undefined, unmet: () => undefined } as never,
      publish: () => undefined,
      mayAct: () => !this.isDead,
    });
    return async () => void (await pass.run(KEY, signal));
  }
}

/** Reconciles until there is nothing more to write. A new process follows one that died. */
async function settle(world: World, start: () => Promise<void>): Promise<() => Promise<void>> {
  let look = start;
  const first = world.writes;
  for (let idle = 0; idle < 2; ) {
    const before = world.writes;
    if (before - first > 200) throw new Error("the schedule does not settle within 200 writes");
    world.show();
    await look();
    idle = world.writes === before ? idle + 1 : 0;
    if (!world.isDead) continue;
    world.isDead = false;
    look = world.operator();
  }
  return look;
}

/** Six hours with one run each. A run ends before the next one is due. */
async function sixHours(spec: object, diesAfter: number): Promise<World> {
  const world = new World(spec, diesAfter);
  let look = await settle(world, world.operator());
  for (let hour = 1; hour <= 6; hour++) {
    world.clock.passedMs += HOUR;
    look = await settle(world, look);
    world.goOn();
    look = await settle(world, look);
    world.goOn();
  }
  return world;
}

test("a store that is away for a while: runs are repeated, each once, wherever the operator dies", async () => {
  const outage = async (diesAfter: number) => {
    const world = new World(
      { schedule: "0 */6 * * *", failedBackupsHistoryLimit: 2, retention: { keepLast: 1 } },
      diesAfter,
    );
    let look = world.operator();
    // Ends an hour after the run of six in the evening.
    for (let minute = 0; minute < 13 * 60; minute += 5) {
      look = await settle(world, look);
      world.goOn(minute < 7 * 60 ? "Failed" : "Completed");
      const failed = [...world.backups.values()].filter(({ status }) => status?.phase === "Failed");
      expect(failed.length).toBeLessThanOrEqual(3); // The limit, and one that has just failed.
      world.clock.passedMs += 5 * 60_000;
    }
    await settle(world, look);
    return world;
  };
  const undisturbed = await outage(-1);
  expect(undisturbed.made).toEqual(
    ["180000", "181000", "182000", "184000", "192000"]
      .map((time) => `nightly-20260101-${time}`)
      .concat("nightly-20260102-000000"),
  );
  expect(undisturbed.good()).toEqual(["nightly-20260102-000000"]);
  for (let death = 1; death <= undisturbed.writes; death++)
    expect((await outage(death)).made, `died after write ${death}`).toEqual(undisturbed.made);
});

const HOURS = ["13", "14", "15", "16", "17", "18"].map((hour) => `nightly-20260101-${hour}0000`);

describe("the outcome is the same when the operator dies after any of its writes:", () => {
  test.each<[string, object, (world: World) => void]>([
    ["a schedule without retention", {}, (world) => expect(world.good()).toEqual(HOURS)],
    ["retention.keepLast", { retention: { keepLast: 2 } }, (world) => {
      expect(world.good()).toEqual(HOURS.slice(-2));
      expect([...world.objects]).toEqual(HOURS.slice(-2));
    }],
    ["successfulBackupsHistoryLimit", { successfulBackupsHistoryLimit: 2 }, (world) => {
      expect(world.good()).toEqual(HOURS.slice(-2));
      expect([...world.objects]).toEqual(HOURS);
    }],
    ["immediate, with concurrencyPolicy Replace", { immediate: true, concurrencyPolicy: "Replace" }, (world) => {
      expect(world.made).toEqual(["nightly-20260101-120000", ...HOURS]);
      expect(world.good()).toEqual(HOURS);
    }],
  ])("%s", async (_, spec, end) => {
    const undisturbed = await sixHours(spec, -1);
    end(undisturbed);
    expect(undisturbed.writes).toBeGreaterThan(12);
    for (let death = 1; death <= undisturbed.writes; death++) {
      const world = await sixHours(spec, death);
      end(world);
      expect(world.made, `died after write ${death}`).toEqual(undisturbed.made);
      expect(world.schedule.status, `died after write ${death}`).toEqual(undisturbed.schedule.status);
    }
  }); // biome-ignore format: a table
});

test("a schedule that is deleted between any two writes leaves no deletion annotation on remaining backups", async () => {
  const marked = (world: World) =>
    [...world.backups.values()].filter(
      ({ metadata }) => metadata.annotations?.[DELETE_OBJECT_ANNOTATION] === "true" && !metadata.deletionTimestamp,
    );
  let found = 0;
  for (let death = 1; death < 40; death++) {
    const world = new World({ retention: { keepLast: 1 } }, death);
    const look = world.operator();
    for (let hour = 1; hour <= 6 && !world.isDead; hour++) {
      world.clock.passedMs += HOUR;
      for (let n = 0; n < 20 && !world.isDead; n++) {
        world.show();
        await look();
      }
      world.goOn();
    }
    if (world.isDead) found += marked(world).length;
    world.isGone = true;
    world.isDead = false;
    await settle(world, world.operator());
    expect(marked(world)).toEqual([]);
    const kept = world.good();
    world.goOn();
    expect(kept.filter((name) => !world.objects.has(name))).toEqual([]);
  }
  expect(found).toBeGreaterThan(2);
});

test("retention keeps a backup that a restore reads until the restore has ended", async () => {
  let restores = 0;
  for (let at = 1; at < 40; at++) {
    const world = new World({ retention: { keepLast: 1 } }, -1);
    world.restoresAt = at;
    let look = world.operator();
    for (let hour = 1; hour <= 6; hour++) {
      world.clock.passedMs += HOUR;
      // Caches show the restore only later.
      for (let n = 0; n < 5; n++) await look();
      look = await settle(world, look);
      world.goOn();
      expect(world.lost(), `restore created at read ${at}`).toEqual([]);
    }
    restores += world.restores.length;
    world.restoresAt = -1;
    world.restored();
    await settle(world, look);
    expect(world.good()).toHaveLength(1);
  }
  expect(restores).toBeGreaterThan(10);
});

type Event =
  | { readonly is: "time" | "clock"; readonly ms: number }
  | { readonly is: "death"; readonly after: number }
  | { readonly is: "end"; readonly phase: "Completed" | "Failed" }
  | { readonly is: "look" | "show" | "restore" | "restored" }
  | { readonly is: "edit"; readonly change: object };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ is: fc.constant("time" as const), ms: fc.integer({ min: 1_000, max: 3 * HOUR }) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("clock" as const), ms: fc.integer({ min: -5 * HOUR, max: 5 * HOUR }) }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant("death" as const), after: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("end" as const), phase: fc.constantFrom("Completed" as const, "Completed" as const, "Failed" as const) }) },
  { weight: 8, arbitrary: fc.record({ is: fc.constantFrom("look" as const, "look" as const, "show" as const) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constantFrom("restore" as const, "restore" as const, "restored" as const) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("edit" as const), change: fc.constantFrom<object>({ suspend: true }, { suspend: false }, { schedule: "@every 40m" }, { schedule: "30 * * * *" }, { retention: { keepLast: 1 } }, { retention: undefined }, { timeZone: "Europe/Berlin" }) }) },
); // biome-ignore format: a table

test("with random events no run is repeated, retention keeps needed backups, and the schedule continues", async () => {
  const policy = fc.constantFrom("Forbid", "Allow", "Replace");
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 60 }), policy, async (events, concurrencyPolicy) => {
      const world = new World({ concurrencyPolicy, immediate: true, retention: { keepLast: 2 } }, -1);
      let look = world.operator();
      let best: string | undefined;
      for (const each of events) {
        if (each.is === "time") world.clock.passedMs += each.ms;
        else if (each.is === "clock") world.clock.aheadMs += each.ms;
        else if (each.is === "death") world.diesAfter = world.writes + each.after;
        else if (each.is === "end") world.goOn(each.phase);
        else if (each.is === "edit") world.edit(each.change);
        else if (each.is === "show") world.show();
        else if (each.is === "restore") world.restore();
        else if (each.is === "restored") world.restored();
        else await look();
        if (world.isDead) {
          world.isDead = false;
          look = world.operator();
        }
        expect(new Set(world.made).size, "a run happened twice").toBe(world.made.length);
        if (best !== undefined) expect(world.good().length, "the last good backup is gone").toBeGreaterThan(0);
        expect(world.lost(), "a backup that a restore reads is gone").toEqual([]);
        best = world.good().at(-1);
      }
      // After all events the schedule recovers.
      world.diesAfter = -1;
      world.restored();
      world.edit({ suspend: false, schedule: "@hourly", timeZone: "UTC", retention: { keepLast: 2 } });
      const wanted = world.made.length + 3;
      // The clock may have been put back by a day.
      for (let hour = 0; hour < 30 && world.made.length < wanted; hour++) {
        look = await settle(world, look);
        world.goOn();
        world.clock.passedMs += HOUR;
      }
      look = await settle(world, look);
      world.goOn();
      await settle(world, look);
      expect(world.made.length).toBeGreaterThanOrEqual(wanted);
      expect(world.good()).toHaveLength(2);
      expect([...world.objects].filter((name) => world.good().includes(name))).toHaveLength(2);
    }),
    { numRuns: 60 },
  );
});
