import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { OPERATOR } from "#api/names.ts";
import { currentCommit } from "#dev/slice.ts";
import { eventually, kubectl } from "#kit/e2e.ts";
import type { Faults, Point } from "#kit/operator-faults.ts";
import { OperatorProcess, operatorNamespace } from "#kit/operator-process.ts";
import { type Census, World } from "#kit/operator-world.ts";

// How does a sweep go?
//   The scenario is played once undisturbed: its writes are noted, and a picture is taken of what there is in the end. Then it is
//   played again for each of these writes, with an operator that dies right after that write and is started again. In the end there
//   must be the same picture.
// Why by name ("the second PUT etcdpeers/my-etcd-1") and not by number ("the seventh write")?
//   Passes over different objects run side by side, so the seventh write is another one each time. By name, none is left out.
// And where that takes too long?
//   A scenario may have the commit choose: one in so many points, those of status left out, which every look writes anew.
// What if a run makes no such write?
//   How often a status is written depends on how fast members start. Such a run counts as one more undisturbed one. Only status
//   writes may be missed so; the caller checks it.

/** What is played. Every step has `world` for itself: a namespace with at most one cluster. */
export interface Scenario {
  readonly name: string;
  /** Of these objects, such as `EtcdPeer db-2`, the end may hold another one than the start. Default: of none. */
  readonly mayBeMadeAnew?: (object: string) => boolean;
  /** How long it may take, in milliseconds, if it is longer than other scenarios may: from the return of the operator to the end. */
  readonly withinMs?: number;
  /** One in so many points is tried, and the commit chooses which; without it all of them. */
  readonly oneIn?: number;
  /** How many are tried side by side, where they mostly wait; `LANES` without it. */
  readonly lanes?: number;
  /** Further faults of all its operators. */
  readonly faults?: Pick<Faults, "rereadWithinMs">;
  /** What was there before; an undisturbed operator runs meanwhile. */
  readonly prepare?: (world: World) => Promise<void>;
  /** What a user does; the operator that is to die runs already. */
  readonly act: (world: World) => Promise<void>;
  /** @throws Error while the operator has not done it all */
  readonly settled: (world: World) => Promise<void>;
  /** More than the picture, of one run, once it is settled. @throws Error when something is wrong */
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

/** Clusters that are tried side by side. More only wait for the same processors. */
const LANES = 3;
/** From the return of the operator to the picture of the undisturbed run, by default; a bootstrap takes 5 s on an idle machine. */
const CONVERGE_MS = 90_000;
/** After this long without a write the undisturbed run counts as done; the slowest thing that it waits for is a readiness probe, each 3 s. */
const QUIET_MS = 4_000;

/** Between two looks at all that there is: each costs a dozen requests, and the processors are the members' to start with. */
const LOOK_EVERY_MS = 400;

/** For a closer look: only points that contain the text of this environment variable, such as `PUT etcdpeers/my-etcd-1 #1`. */
const ONLY = "SWEEP_ONLY";

/** Plays the scenario once for each of its writes. */
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
  const commit = await currentCommit(join(import.meta.dirname, "..", ".."));
  const first = Number.parseInt(commit.slice(24, 32), 16) % oneIn;
  const changes = all.filter(({ write }) => !write.includes("/status"));
  const some = changes.filter((_, n) => n % oneIn === first);
  console.log(`${name}: commit ${commit.slice(0, 12)} tries ${some.length} of ${changes.length} points`);
  return some;
}

/** What every disturbed run is compared with. */
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

/** @returns whether it died; false when it had nothing more to write, or when it does not get there */
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

/** Waits for the same end as that of the undisturbed run. @throws Error with the first difference */
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
    return thrown instanceof Error ? thrown.message : String(thrown); // nobody can be asked yet
  }
}

interface Stage extends AsyncDisposable {
  readonly world: World;
  /** What there is after `prepare`. */
  readonly picture: unknown;
}

/**
 * A namespace in which `prepare` has been played, without an operator. `await using` deletes it.
 * @param wanted how it looked in the undisturbed run, to be sure that nothing is left to do; without it, waits until it is quiet
 */
async function prepared(scenario: Scenario, wanted?: unknown): Promise<Stage> {
  await using undone = new AsyncDisposableStack(); // a preparation that fails leaves nothing behind
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

/** The lease of a dead operator lasts 15 s; it is deleted so that a hundred runs need not wait for a hundred times that. */
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

/** What was there when the operator died, and is there in the end, must be the same object: nothing was made anew. */
function mustBeSameObjects(before: Census, after: Census, mayBeMadeAnew: (object: string) => boolean): void {
  for (const [object, uid] of before) {
    const now = after.get(object);
    if (now !== undefined && now !== uid && !mayBeMadeAnew(object)) throw new Error(`${object} was made anew`);
    const keeper = object.replace(/^Pod (.*)-[a-z0-9]{5}$/, "ReplicaSet $1");
    const isKept = before.has(keeper) && before.get(keeper) === after.get(keeper);
    if (now === undefined && object !== keeper && isKept && !mayBeMadeAnew(object))
      throw new Error(`${object} was replaced`);
  }
}

/** Changes of the membership, and restarts. */
const ONCE = /^(MemberAdd|MemberPromote|MemberRemove|MemberUpdate|DELETE pods\/.*)$/;

/** Both lives together make these exactly as often as one undisturbed life: each is made once. */
function mustBeSameChanges(calm: readonly string[], both: readonly string[]): void {
  for (const change of new Set([...calm, ...both].filter((write) => ONCE.test(write)))) {
    const [wanted, found] = [calm, both].map((writes) => writes.filter((write) => write === change).length);
    if (wanted !== found) throw new Error(`${change} was carried out ${found} times instead of ${wanted}`);
  }
}

/** Where two pictures differ first; undefined when they do not. */
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
