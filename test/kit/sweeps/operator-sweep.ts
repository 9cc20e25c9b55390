import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { OPERATOR } from "#api/names.ts";
import { currentCommit } from "#dev/slice.ts";
import { eventually, kubectl } from "#kit/e2e/e2e.ts";
import type { Faults, Point } from "./operator-faults.ts";
import { OperatorProcess, operatorNamespace } from "./operator-process.ts";
import { type Census, World } from "./operator-world.ts";

// How does a sweep work? The scenario runs once undisturbed: its writes are recorded, and a picture is taken of the
// final state. Then it runs again for each of these writes, with an operator that dies right after that write and is
// started again. In the end the picture must be the same.
//
// Why by name ("the second PUT etcdpeers/my-etcd-1") and not by number ("the seventh write")? Passes over different
// objects run in parallel, so the seventh write differs each time. By name, none is left out.
//
// What if that takes too long? A scenario may let the commit choose one in so many points, without those of status,
// which every pass writes again.
//
// What if a run makes no such write? How often a status is written depends on how fast members start. Such a run counts
// as a further undisturbed one. Only status writes may be missed; the caller checks it.

/** What a sweep runs. Every step has its own `world`: a namespace with at most one cluster. */
export interface Scenario {
  readonly name: string;
  /** Whether an object such as `EtcdPeer db-2` may be replaced by a new one of its name. Default: none may. */
  readonly mayBeMadeAnew?: (object: string) => boolean;
  /** How long it may take from the operator's restart to the end, in milliseconds, if longer than other scenarios. */
  readonly withinMs?: number;
  /** One in so many points is tried, and the commit chooses which; by default all. */
  readonly oneIn?: number;
  /** Number of parallel runs, for scenarios that mostly wait; `LANES` by default. */
  readonly lanes?: number;
  /** Further faults of all its operators. */
  readonly faults?: Pick<Faults, "rereadWithinMs">;
  /** Prepares the initial state with an undisturbed operator. */
  readonly prepare?: (world: World) => Promise<void>;
  /** The user's action; the operator that will die already runs. */
  readonly act: (world: World) => Promise<void>;
  /** @throws Error while the operator has not finished */
  readonly settled: (world: World) => Promise<void>;
  /**
   * Checks one settled run further than the picture does.
   * @throws Error when something is wrong
   */
  readonly holds?: (world: World) => Promise<void>;
}

export interface Sweep {
  /** Writes of the undisturbed run, in its order. */
  readonly writes: readonly string[];
  /** Each point, whether the operator died there, and what was wrong afterwards. */
  readonly runs: readonly Run[];
  readonly seconds: number;
}

export interface Run {
  readonly point: string;
  readonly died: boolean;
  readonly fault?: string;
}

/** Number of parallel clusters. More would only wait for the same processors. */
const LANES = 3;
/**
 * Time from the operator's restart to the picture of the undisturbed run, by default; a bootstrap takes 5 s on an idle
 * machine.
 */
const CONVERGE_MS = 90_000;
/**
 * After this time without a write the undisturbed run counts as finished. The slowest event is a readiness probe, every
 * 3 s.
 */
const QUIET_MS = 4_000;

/**
 * Interval between two checks of the final state: each costs a dozen requests, and members need the processors to
 * start.
 */
const LOOK_EVERY_MS = 400;

/** Environment variable for debugging: only points that contain its text, such as `PUT etcdpeers/my-etcd-1 #1`. */
const ONLY = "SWEEP_ONLY";

/** Runs the scenario once for each of its writes. */
export async function sweep(scenario: Scenario): Promise<Sweep> {
  const startedAtMs = performance.now();
  const calm = await undisturbed(scenario);
  const waiting = await chosen(scenario, pointsOf(calm.writes));
  const runs: Run[] = [];
  const lane = async (): Promise<void> => {
    for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
      const run = await disturbed(scenario, point, calm);
      console.log(
        `${scenario.name}: ${run.died ? "died" : "settled"} after ${run.point} ${run.fault?.slice(0, 1500) ?? ""}`,
      );
      runs.push(run);
    }
  };
  await Promise.all(Array.from({ length: scenario.lanes ?? LANES }, lane));
  return { writes: calm.writes, runs, seconds: Math.round((performance.now() - startedAtMs) / 1000) };
}

async function chosen({ name, oneIn = 1 }: Scenario, all: readonly Point[]): Promise<Point[]> {
  const only = process.env[ONLY];
  if (only !== undefined) return all.filter((point) => textOf(point).includes(only));
  if (oneIn === 1) return [...all];
  const commit = await currentCommit(join(import.meta.dirname, "..", "..", ".."));
  const first = Number.parseInt(commit.slice(24, 32), 16) % oneIn;
  const changes = all.filter(({ write }) => !write.includes("/status"));
  const some = changes.filter((_, n) => n % oneIn === first);
  console.log(`${name}: commit ${commit.slice(0, 12)} tries ${some.length} of ${changes.length} points`);
  return some;
}

/** The undisturbed run, with which every other run is compared. */
interface Calm {
  readonly prepared: unknown;
  readonly writes: readonly string[];
  readonly picture: unknown;
}

async function undisturbed(scenario: Scenario): Promise<Calm> {
  await using stage = await prepared(scenario);
  const { world, picture } = stage;
  await using operator = operatorOf(scenario, world);
  await scenario.act(world);
  await eventually(() => scenario.settled(world), scenario.withinMs ?? CONVERGE_MS);
  await untilQuiet(operator);
  await scenario.holds?.(world);
  return { prepared: picture, writes: operator.writes(), picture: await eventually(() => world.picture()) };
}

async function disturbed(scenario: Scenario, point: Point, calm: Calm): Promise<Run> {
  await using stage = await prepared(scenario, calm.prepared);
  const { world } = stage;
  await using first = operatorOf(scenario, world, point);
  await scenario.act(world);
  const { withinMs = CONVERGE_MS } = scenario;
  const run = { point: textOf(point), died: await diesOrSettles(first, world, calm, withinMs) };
  const before = await world.census();
  await first.signal("SIGKILL");
  await leaseFree(world);
  await using second = operatorOf(scenario, world);
  try {
    await mustBecome(world, calm.picture, withinMs);
    await scenario.holds?.(world);
    mustBeSameObjects(before, await world.census(), scenario.mayBeMadeAnew ?? (() => false));
    mustBeSameChanges(calm.writes, [...first.writes(), ...second.writes()]);
    return run;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { ...run, fault: `${why}\n${second.log().slice(-3_000)}` };
  }
}

function operatorOf({ faults }: Scenario, { namespace }: World, dieAfter?: Point): OperatorProcess {
  return new OperatorProcess(namespace, { namespace, ...faults, ...(dieAfter === undefined ? {} : { dieAfter }) });
}

/** @returns whether it died; false when it had nothing more to write, or did not reach the write in time */
async function diesOrSettles(operator: OperatorProcess, world: World, calm: Calm, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!operator.hasEnded && performance.now() < until) {
    if ((await differenceFrom(calm.picture, world)) === undefined) await untilQuiet(operator);
    else await sleep(LOOK_EVERY_MS);
    if (!operator.hasEnded && (await differenceFrom(calm.picture, world)) === undefined) return false;
  }
  return operator.hasEnded;
}

async function untilQuiet(operator: OperatorProcess): Promise<void> {
  for (let seen = -1; seen !== operator.writes().length && !operator.hasEnded; await sleep(QUIET_MS))
    seen = operator.writes().length;
}

/**
 * Waits for the same end as that of the undisturbed run.
 * @throws Error with the first difference
 */
async function mustBecome(world: World, picture: unknown, withinMs = CONVERGE_MS): Promise<void> {
  const until = performance.now() + withinMs;
  for (;;) {
    const difference = await differenceFrom(picture, world);
    if (difference === undefined) return;
    if (performance.now() > until) throw new Error(difference);
    await sleep(LOOK_EVERY_MS);
  }
}

async function differenceFrom(picture: unknown, world: World): Promise<string | undefined> {
  try {
    return differenceOf(picture, await world.picture(), "");
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown); // no member can be called yet
  }
}

interface Stage extends AsyncDisposable {
  readonly world: World;
  /** The state after `prepare`. */
  readonly picture: unknown;
}

/**
 * A namespace after `prepare`, without an operator. `await using` deletes it.
 * @param wanted the state after `prepare` in the undisturbed run, so that nothing is left to do; without it, waits for
 * quiet
 */
async function prepared(scenario: Scenario, wanted?: unknown): Promise<Stage> {
  await using undone = new AsyncDisposableStack(); // a failed preparation leaves nothing behind
  const namespace = undone.use(await operatorNamespace("sweep"));
  const world = new World(namespace.name);
  if (scenario.prepare !== undefined) {
    await using operator = operatorOf(scenario, world);
    await scenario.prepare(world);
    if (wanted === undefined) await untilQuiet(operator);
    else await mustBecome(world, wanted);
  }
  await leaseFree(world);
  const picture = await eventually(() => world.picture());
  const kept = undone.move();
  return { world, picture, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** The lease of a dead operator lasts 15 s; it is deleted so that a hundred runs need not wait a hundred times. */
async function leaseFree(world: World): Promise<void> {
  await kubectl.run(["delete", "lease", OPERATOR, "-n", world.namespace, "--ignore-not-found"]);
}

function pointsOf(writes: readonly string[]): Point[] {
  const counts = new Map<string, number>();
  return writes.map((write) => {
    const nth = (counts.get(write) ?? 0) + 1;
    counts.set(write, nth);
    return { write, nth };
  });
}

function textOf({ write, nth }: Point): string {
  return `${write} #${nth}`;
}

/** Objects from before the operator's death must have the same uid in the end, unless they may be replaced. */
function mustBeSameObjects(before: Census, after: Census, mayBeMadeAnew: (object: string) => boolean): void {
  for (const [object, uid] of before) {
    const now = after.get(object);
    if (now !== undefined && now !== uid && !mayBeMadeAnew(object))
      throw new Error(`${object} was deleted and created again`);
    const keeper = object.replace(/^Pod (.*)-[a-z0-9]{5}$/, "ReplicaSet $1");
    const isKept = before.has(keeper) && before.get(keeper) === after.get(keeper);
    if (now === undefined && object !== keeper && isKept && !mayBeMadeAnew(object))
      throw new Error(`${object} was replaced`);
  }
}

/** Changes of the membership, and restarts. */
const ONCE = /^(MemberAdd|MemberPromote|MemberRemove|MemberUpdate|DELETE pods\/.*)$/;

/** The two lives together must make these changes exactly as often as one undisturbed life. */
function mustBeSameChanges(calm: readonly string[], both: readonly string[]): void {
  for (const change of new Set([...calm, ...both].filter((write) => ONCE.test(write)))) {
    const [wanted, found] = [calm, both].map((writes) => writes.filter((write) => write === change).length);
    if (wanted !== found) throw new Error(`${change} was carried out ${found} times instead of ${wanted}`);
  }
}

/** The first difference between two pictures; undefined when they are equal. */
function differenceOf(wanted: unknown, found: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(wanted, found)) return undefined;
  if (typeof wanted === "object" && typeof found === "object" && wanted !== null && found !== null) {
    const keys = new Set([...Object.keys(wanted), ...Object.keys(found)]);
    for (const key of keys) {
      const [a, b] = [wanted, found].map((each) => (each as Record<string, unknown>)[key]);
      const difference = differenceOf(a, b, `${path}.${key}`);
      if (difference !== undefined) return difference;
    }
  }
  return `${path} is ${JSON.stringify(found)?.slice(0, 500)} instead of ${JSON.stringify(wanted)?.slice(0, 500)}`;
}
