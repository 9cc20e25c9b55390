import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import type { Mutation } from "#kit/world/operator.ts";
import { CLUSTER } from "#kit/world/people.ts";
import { World, type WorldEvent } from "#kit/world/world.ts";
import { wrongAccess } from "./access-endings.ts";
import { seeded, settle } from "./ambient.ts";
import { calmDown, heal, SETTLED_MS } from "./calm.ts";
import { wrongEnding } from "./endings.ts";
import { happen } from "./happenings.ts";
import { INVARIANTS } from "./invariants.ts";
import { type Excuse, Memory } from "./memory.ts";
import { pollsTooOften } from "./polling.ts";
import { hasOnlyEvictions, type Profile } from "./profile.ts";

/** A broken promise. */
export interface Violation {
  readonly invariant: string;
  readonly promise: string;
  readonly detail: string;
  readonly step: number;
}

/** Outcome of one history. */
export interface Told {
  readonly profile: Profile;
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly passes: number;
  readonly writes: number;
  /** How often each rule and guard decided, as `controller: name`. */
  readonly decided: ReadonlyMap<string, number>;
  /** Checks that were skipped, and why. */
  readonly excuses: ReadonlySet<Excuse>;
  /** How the first cluster ended: the reason of its condition Ready. */
  readonly ending: string;
}

export interface Telling {
  /** Names of promises that are not checked: only then a violation of another promise can show. */
  readonly unasked?: readonly string[] | undefined;
  readonly mutation?: Mutation;
  readonly trace?: (line: string) => void;
}

/** Ends a history at the first broken promise. */
class Broken extends Error {
  readonly violation: Violation;

  constructor(violation: Violation) {
    super(violation.detail);
    this.violation = violation;
  }
}

/** Runs one history to its end, or to the first broken promise. The same profile gives the same history. */
export async function tell(profile: Profile, telling: Telling = {}): Promise<Told> {
  return await seeded(profile.seed, () => tellSeeded(profile, telling));
}

async function tellSeeded(profile: Profile, telling: Telling): Promise<Told> {
  const memory = new Memory(hasOnlyEvictions(profile));
  const asked = INVARIANTS.filter(({ name }) => telling.unasked?.includes(name) !== true);
  const decided = new Map<string, number>();
  let violation: Violation | undefined;
  const happened = (event: WorldEvent, world: World): void => {
    if (event.is === "decided") {
      const name = `${event.controller}: ${event.rule}`;
      decided.set(name, (decided.get(name) ?? 0) + 1);
    }
    for (const invariant of asked) {
      const detail = invariant.breaks(event, world, memory);
      // The violation is remembered, because the operator would catch an exception.
      if (detail !== undefined && violation === undefined)
        violation = { invariant: invariant.name, promise: invariant.promise, detail, step: world.step };
    }
    memory.note(event, world);
  };
  const world = new World({
    seed: profile.seed,
    replicas: profile.replicas,
    hasLocalVolumes: profile.hasLocalVolumes,
    hasStrictEtcd: profile.hasStrictEtcd,
    bindsLate: profile.bindsLate,
    versions: profile.versions,
    ...(profile.tls === undefined ? {} : { tls: profile.tls }),
    othersAtRest: profile.othersAtRest,
    ...(profile.auth === undefined ? {} : { auth: profile.auth }),
    hasAccess: profile.hasAccess,
    mutation: telling.mutation ?? {},
    happened,
    trace: telling.trace,
  });
  const next = (): void => {
    world.happened({ is: "step" });
    if (violation !== undefined) throw new Broken(violation);
    world.step += 1;
    world.calls.breathe();
  };
  try {
    await live(world, profile, next, memory);
  } catch (thrown) {
    if (!(thrown instanceof Broken)) throw thrown;
    violation = thrown.violation;
  }
  const ending = endingOf(world);
  const passes = world.operator?.passes ?? 0;
  world.operator?.crash();
  if (violation !== undefined)
    telling.trace?.(`BROKEN in step ${violation.step}: ${violation.promise} ${violation.detail}`);
  return {
    profile,
    violation,
    steps: world.step,
    passes,
    writes: world.writes,
    decided,
    excuses: memory.excuses,
    ending,
  };
}

async function live(world: World, profile: Profile, next: () => void, memory: Memory): Promise<void> {
  const fail = (detail: string | undefined, invariant: string, promise: string): void => {
    if (detail !== undefined) throw new Broken({ invariant, promise, detail, step: world.step });
  };
  world.startOperator();
  await settle();
  world.people.do("createCluster");
  if (profile.startsFormed) fail(await calmDown(world, next, memory), ...CONVERGES);
  world.calls.faults = profile.callFaults;
  for (let step = 0; step < profile.steps; step++) {
    const happening = world.random.weighted(profile.weights);
    if (happening === undefined || !happen(world, happening)) continue;
    await settle();
    next();
  }
  heal(world, profile);
  world.happened({ is: "step" }); // A member that is reachable again is healthy before the operator's next observation.
  fail(await calmDown(world, next, memory, SETTLED_MS), ...CONVERGES);
  fail(wrongEnding(world, memory), ...ENDS_WELL);
  fail(wrongAccess(world, memory), ...ENDS_WELL);
  if (profile.seed % POLLING_ASKED_EVERY === 0) fail(await pollsTooOften(world, next), ...RESTS);
}

function endingOf(world: World): string {
  const cluster = world.api.list(ETCD_CLUSTERS).find(({ metadata }) => metadata.name === CLUSTER);
  const ready = cluster?.status?.conditions?.find(({ type }) => type === "Ready");
  return cluster === undefined ? "deleted" : (ready?.reason ?? "no status");
}

const CONVERGES = ["converges", "When faults stop, the operator stops writing within bounded time."] as const;
/** One in this many histories is checked for polling: ten minutes of rest take as long as a history. */
const POLLING_ASKED_EVERY = 10;
const RESTS = [
  "rests",
  "After ten minutes in which nothing changes, no object is observed more often than every few seconds.",
] as const;
const ENDS_WELL = [
  "ends well",
  "When faults stop, every object exists and is Ready, or the right condition names what a person must do.",
] as const;
