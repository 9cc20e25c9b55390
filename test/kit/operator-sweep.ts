import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { OPERATOR } from "#api/names.ts";
import { eventually, kubectl } from "#kit/e2e.ts";
import type { Point } from "#kit/operator-faults.ts";
import { OperatorProcess, operatorNamespace } from "#kit/operator-process.ts";
import { type Census, World } from "#kit/operator-world.ts";

// How does a sweep go?
//   The scenario is played once undisturbed: its writes are noted, and a picture is taken of what there is in the end. Then it is
//   played again for each of these writes, with an operator that dies right after that write and is started again. In the end there
//   must be the same picture.
// Why by name ("the second PUT etcdpeers/my-etcd-1") and not by number ("the seventh write")?
//   Passes over different objects run side by side, so the seventh write is another one each time. By name, none is left out.
// What if a run makes no such write?
//   How often a status is written depends on how fast members start. Such a run counts as one more undisturbed one. Only status
//   writes may be missed so; the caller checks it.

/** What is played. Every step has `world` for itself: a namespace with at most one cluster. */
export interface Scenario {
  readonly name: string;
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
/** From the return of the operator to the picture of the undisturbed run; a bootstrap takes 5 s on an idle machine. */
const CONVERGE_MS = 90_000;
/** After this long without a write the undisturbed run counts as done; the slowest thing that it waits for is a readiness probe, each 3 s. */
const QUIET_MS = 4_000;

/** For a closer look: only points that contain the text of this environment variable, such as `PUT etcdpeers/my-etcd-1 #1`. */
const ONLY = "SWEEP_ONLY";

/** Plays the scenario once for each of its writes. */
export async function sweep(scenario: Scenario): Promise<Sweep> {
  const startedAtMs = performance.now();
  const calm = await undisturbed(scenario);
  const waiting = pointsOf(calm.writes).filter((point) => textOf(point).includes(process.env[ONLY] ?? ""));
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
  await Promise.all(Array.from({ length: LANES }, lane));
  return { writes: calm.writes, runs, seconds: Math.round((performance.now() - startedAtMs) / 1000) };
}

/** What every disturbed run is compared with. */
interface Calm {
  readonly writes: readonly string[];
  readonly picture: unknown;
}

async function undisturbed(scenario: Scenario): Promise<Calm> {
  await using stage = await prepared(scenario);
  const { world } = stage;
  await using operator = new OperatorProcess(world.namespace, { namespace: world.namespace });
  await scenario.act(world);
  await eventually(() => scenario.settled(world), CONVERGE_MS);
  for (let seen = -1; seen !== operator.writes().length; await sleep(QUIET_MS)) seen = operator.writes().length;
  await scenario.holds?.(world);
  return { writes: operator.writes(), picture: await world.picture() };
}

async function disturbed(scenario: Scenario, point: Point, calm: Calm): Promise<Run> {
  await using stage = await prepared(scenario);
  const { world } = stage;
  await using first = new OperatorProcess(world.namespace, { namespace: world.namespace, dieAfter: point });
  await scenario.act(world);
  const died = await Promise.race([first.end.then(() => true), reached(world, calm).then(() => false)]);
  const before = await world.census();
  if (died) await leaseFree(world);
  else await first.signal("SIGKILL");
  await using second = new OperatorProcess(world.namespace, { namespace: world.namespace });
  try {
    if (died && (await first.end).signal !== "SIGKILL") throw new Error(`it ended by itself: ${first.log()}`);
    await reached(world, calm);
    await scenario.holds?.(world);
    mustBeSameObjects(before, await world.census());
    mustBeSameChanges(calm.writes, [...first.writes(), ...second.writes()]);
    return { point: textOf(point), died };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { point: textOf(point), died, fault: `${why}\n${second.log().slice(-3_000)}` };
  }
}

/** Waits for the same end as that of the undisturbed run. @throws Error with the first difference */
async function reached(world: World, calm: Calm): Promise<void> {
  await eventually(async () => {
    const difference = differenceOf(calm.picture, await world.picture(), "");
    if (difference !== undefined) throw new Error(difference);
  }, CONVERGE_MS);
}

/** A namespace in which `prepare` has been played, without an operator. `await using` deletes it. */
async function prepared(scenario: Scenario): Promise<{ world: World } & AsyncDisposable> {
  const namespace = await operatorNamespace("sweep");
  const world = new World(namespace.name);
  if (scenario.prepare !== undefined) {
    await using _ = new OperatorProcess(world.namespace, { namespace: world.namespace });
    await scenario.prepare(world);
  }
  await leaseFree(world);
  return { world, [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose]() };
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

/** What was there when the operator died and is there in the end must be the same object: nothing was made anew. */
function mustBeSameObjects(before: Census, after: Census): void {
  for (const [object, uid] of before) {
    const now = after.get(object);
    if (now === undefined && object.startsWith("PersistentVolumeClaim ")) throw new Error(`${object} is gone`);
    if (now !== undefined && now !== uid) throw new Error(`${object} was made anew`);
    if (now === undefined && object.startsWith("Pod ")) throw new Error(`${object} was replaced`);
  }
}

const CHANGES_OF_MEMBERSHIP = ["MemberAdd", "MemberPromote", "MemberRemove"];

/** Both lives together change the membership exactly as often as one undisturbed life: each change is made once. */
function mustBeSameChanges(calm: readonly string[], both: readonly string[]): void {
  for (const change of CHANGES_OF_MEMBERSHIP) {
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
