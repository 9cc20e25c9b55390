// Who is looked at first, when not everybody can be?
//   What a person did, or has lost, comes before everything that goes on by itself. Of that, work that is nearly done comes first: half of a
//   thousand creations are ready in half the time, instead of all of them at the end. What only has to be looked at again comes last.
//   Who is new waits for its turn to be begun before it is in line at all: beginnings.ts.
// And who is never the first?
//   Every eighth turn is that of whoever has waited longest of those that may be next, whatever is more urgent. So nobody starves.
// And when one namespace asks for everything at once, or never stops to edit?
//   No namespace has two turns one after the other while another one waits: whatever it does, it has at most half of them. Nor can several that
//   never stop to edit keep all turns to themselves: the turn after one for an edit is that of the namespace that has been without one for longest, of those with the fewest passes that run.
//   So where N namespaces wait without end, and people never stop to edit, each of them has at least 7/16 of an Nth of all turns.
// And when its turns take longer than others'?
//   Of equals it is the turn of the namespace with the fewest passes that run. One with more than all others together is not next while another one
//   waits; so it has half of the time, and not only half of the turns. What hangs for long holds no worker, and how many may hang is bounded: places.ts.
// And who of a namespace is next?
//   Whoever is most urgent; and after what somebody asked for, whoever is less urgent, so that who edits does not hold up what it asked for before.

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
 * Whose turn it is of those that wait in a namespace.
 * @param waiting which urgencies somebody waits with there
 * @param before whose turn its last one was, since somebody has waited there without end
 * @returns undefined: nobody waits
 */
export function nextOf(waiting: ReadonlySet<Urgency>, before: Urgency | undefined): Urgency | undefined {
  const [first, second] = URGENCIES.filter((urgency) => waiting.has(urgency));
  return first === "asked" && before === "asked" ? (second ?? first) : first;
}
