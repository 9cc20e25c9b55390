import { type Told, tell } from "./history.ts";
import { type Mutant, mutationOf } from "./mutant.ts";
import { CLUSTER_MUTANTS } from "./mutants-cluster.ts";
import { REMAINING_MUTANTS } from "./mutants-rest.ts";
import { profileOf } from "./profile.ts";

/** Everything that is broken on purpose. */
export const MUTANTS: readonly Mutant[] = [...CLUSTER_MUTANTS, ...REMAINING_MUTANTS];

/** Histories after which a mutant counts as not found. Most are found within five. */
const MOST_HISTORIES = 60;
/** For a mutant that need not be found by itself: a few, for the table. */
const FEW_HISTORIES = 5;

/** What became of one mutant. */
export interface Hunt {
  readonly name: string;
  /** What else keeps the promise: see Mutant. */
  readonly covered: string | undefined;
  /** The history that found it; `undefined` when none did. */
  readonly caught: Told | undefined;
  readonly histories: number;
  /** What the real operator did wrong in the very same history: then the mutant is not to blame. */
  readonly alibi: Told | undefined;
}

/** Tells histories with the mutant until a promise is broken, and the last of them again with the real operator. */
export async function hunt(mutant: Mutant): Promise<Hunt> {
  const { name, covered } = mutant;
  const mutation = mutationOf(mutant);
  const most = covered === undefined ? MOST_HISTORIES : FEW_HISTORIES;
  for (let seed = 1; seed <= most; seed++) {
    // etcd's own care would hide what the mutant forgets.
    const profile = profileOf(seed, { hasStrictEtcd: false, ...mutant.leaning });
    const told = await tell(profile, { mutation });
    if (told.violation === undefined) continue;
    const real = await tell(profile);
    return { name, covered, caught: told, histories: seed, alibi: real.violation === undefined ? undefined : real };
  }
  return { name, covered, caught: undefined, histories: most, alibi: undefined };
}

/** The list of mutants with what became of each. */
export function table(hunts: readonly Hunt[]): string {
  const width = Math.max(...hunts.map(({ name }) => name.length));
  const lines = hunts.map((each) => `${each.name.padEnd(width)}  ${verdict(each)}`);
  const caught = hunts.filter((each) => each.caught !== undefined).length;
  const covered = hunts.filter((each) => each.caught === undefined && each.covered !== undefined).length;
  return [
    ...lines,
    `${hunts.length} mutants: ${caught} caught, ${covered} covered, ${hunts.length - caught - covered} missed`,
  ].join("\n");
}

function verdict({ covered, caught, histories, alibi }: Hunt): string {
  if (alibi !== undefined) return `NOT TO BLAME: the real operator breaks "${alibi.violation?.invariant}" too`;
  if (caught !== undefined)
    return `caught in history ${histories}: ${caught.violation?.invariant}: ${caught.violation?.detail.slice(0, 90)}`;
  return covered === undefined ? `MISSED in ${histories} histories` : `covered: ${covered}`;
}
