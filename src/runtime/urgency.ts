// Which key gets the next free worker?
// - Changes by users and losses come first. Then work that is nearly done: of a thousand creations half are then ready
//   in half the time, instead of all at the end. Periodic rechecks come last. New objects wait for a start slot first:
//   beginnings.ts.
// - Every eighth turn belongs to the key that has waited longest among those that may be next, so no key starves.
// How are namespaces kept from starving each other?
// - A namespace never has two turns in a row while another namespace waits, so it gets at most half of them.
// - The turn after an edit belongs to the namespace without a turn for longest, among those with the fewest running
//   passes.
//   So of N namespaces that always wait, each gets at least 7/16 of an Nth of all turns.
// - Among equals, the namespace with the fewest running passes comes first. One with more than all others together
//   waits while any other waits, so it gets half of the time, too. Long passes free their worker, and their number is
//   bounded: places.ts.
// Which key of a namespace is next?
//   The most urgent one. After an edit comes a less urgent one, so that repeated edits do not hold up earlier
//   changes.

/** Urgency of a pass, the most urgent first. */
export const URGENCIES = ["asked", "finishing", "underWay", "new", "routine"] as const;
export type Urgency = (typeof URGENCIES)[number];

/** Progress of an object: nothing exists yet; it is being created; it is nearly complete; there is nothing to do. */
export type Stage = "new" | "underWay" | "finishing" | "settled";

/** One turn in so many belongs to the key that has waited longest. */
export const TURNS_TO_THE_OLDEST = 8;

/** Urgency of a pass after a change or a step. */
export function urgencyOfChange(stage: Stage): Urgency {
  return stage === "settled" ? "underWay" : stage;
}

/** Urgency of a periodic recheck. */
export function urgencyOfTimer(stage: Stage): Urgency {
  return stage === "settled" ? "routine" : stage;
}

export function moreUrgent(a: Urgency, b: Urgency): Urgency {
  return URGENCIES.indexOf(a) <= URGENCIES.indexOf(b) ? a : b;
}

/**
 * The urgency that has the next turn of a namespace.
 * @param waiting urgencies of its waiting keys
 * @param before urgency of its last turn, while keys have waited there without interruption
 * @returns undefined: no key waits
 */
export function nextOf(waiting: ReadonlySet<Urgency>, before: Urgency | undefined): Urgency | undefined {
  const [first, second] = URGENCIES.filter((urgency) => waiting.has(urgency));
  return first === "asked" && before === "asked" ? (second ?? first) : first;
}
