// Who is looked at first, when not everybody can be?
//   What a person did, or has lost, comes before everything that goes on by itself. Of that, work that is nearly done comes first: half of a
//   thousand creations are ready in half the time, instead of all of them at the end. What only has to be looked at again comes last.
// And who is never the first?
//   Every so often it is the turn of whoever has waited longest, whatever is more urgent. So nobody starves.
// And when somebody never stops to edit?
//   After a turn for what people asked there is one for whoever is less urgent, where anybody waits: while they ask, they have half of the turns.
// And when one namespace asks for everything at once?
//   Among equals namespaces take turns, so that another one's key waits for one of each namespace, and not for all of its thousand.

/** How urgent a look is, the most urgent first. */
export const URGENCIES = ["asked", "finishing", "underWay", "new", "routine"] as const;
export type Urgency = (typeof URGENCIES)[number];

/** How far an object has come: nothing is made of it yet; it is being made; it is nearly what it is to be; there is nothing to do. */
export type Stage = "new" | "underWay" | "finishing" | "settled";

/** One turn in so many is that of the key that has waited longest. */
export const TURNS_TO_THE_OLDEST = 8;

/** Of a look because something has changed, or has just been done. */
export function urgencyOfChange(stage: Stage): Urgency {
  return stage === "settled" ? "underWay" : stage;
}

/** Of a look because it is time for one. */
export function urgencyOfTimer(stage: Stage): Urgency {
  return stage === "settled" ? "routine" : stage;
}

export function moreUrgent(a: Urgency, b: Urgency): Urgency {
  return URGENCIES.indexOf(a) <= URGENCIES.indexOf(b) ? a : b;
}

/**
 * Whose turn it is.
 * @param turn how many turns there were before
 * @param waiting which urgencies somebody waits with
 * @param before whose turn the last one was
 * @returns `oldest`: whoever has waited longest; undefined: nobody waits
 */
export function turnOf(
  turn: number,
  waiting: ReadonlySet<Urgency>,
  before: Urgency | undefined,
): Urgency | "oldest" | undefined {
  const [first, second] = URGENCIES.filter((urgency) => waiting.has(urgency));
  if (first === undefined) return undefined;
  if (turn % TURNS_TO_THE_OLDEST === TURNS_TO_THE_OLDEST - 1) return "oldest";
  return first === "asked" && before === "asked" ? (second ?? first) : first;
}
