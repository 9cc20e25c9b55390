import { type Told, tell } from "./history.ts";
import { guardedAgain, type Mutant, mutationOf } from "./mutant.ts";
import { ACCESS_MUTANTS } from "./mutants-access.ts";
import { AUTH_MUTANTS } from "./mutants-auth.ts";
import { BESIDE_MUTANTS } from "./mutants-beside.ts";
import { CLUSTER_MUTANTS } from "./mutants-cluster.ts";
import { HEALING_MUTANTS } from "./mutants-healing.ts";
import { REMAINING_MUTANTS } from "./mutants-rest.ts";
import { RUNTIME_MUTANTS } from "./mutants-runtime.ts";
import { SLEEP_MUTANTS } from "./mutants-sleep.ts";
import { TLS_MUTANTS } from "./mutants-tls.ts";
import { profileOf } from "./profile.ts";

/** All mutants. */
export const MUTANTS: readonly Mutant[] = [
  ...CLUSTER_MUTANTS,
  ...HEALING_MUTANTS,
  ...BESIDE_MUTANTS,
  ...SLEEP_MUTANTS,
  ...TLS_MUTANTS,
  ...AUTH_MUTANTS,
  ...ACCESS_MUTANTS,
  ...RUNTIME_MUTANTS,
  ...REMAINING_MUTANTS,
];

/** Histories after which a mutant counts as missed. Most are found within five. */
const MOST_HISTORIES = 60;
/** Histories for a covered mutant, for the table. */
const FEW_HISTORIES = 5;

/** Outcome of the hunt for one mutant. */
export interface Hunt {
  readonly name: string;
  /** What else keeps the promise: see Mutant. */
  readonly covered: string | undefined;
  /** The history that found it; `undefined` when there is none. */
  readonly caught: Told | undefined;
  readonly histories: number;
  /** Violation by the real operator in the same history: then the mutant is not the cause. */
  readonly alibi: Told | undefined;
  /** Violation with the guards restored: then the guards do not keep the promise. */
  readonly unkept: Told | undefined;
}

/** Runs histories with the mutant until a promise is broken, and the last one again with the real operator. */
export async function hunt(mutant: Mutant): Promise<Hunt> {
  const { name, covered, unasked } = mutant;
  const mutation = mutationOf(mutant);
  const most = covered === undefined ? MOST_HISTORIES : FEW_HISTORIES;
  for (let seed = 1; seed <= most; seed++) {
    // The checks of a strict etcd would hide the mutant.
    const profile = profileOf(seed, { hasStrictEtcd: false, tls: false, ...mutant.leaning });
    const told = await tell(profile, { mutation, unasked });
    if (!isBroken(told, mutant)) continue;
    const real = await tell(profile);
    const alibi = real.violation === undefined ? undefined : real;
    const kept = guardedAgain(mutant);
    const again = kept === undefined ? undefined : await tell(profile, { mutation: mutationOf(kept), unasked });
    const unkept = again?.violation?.invariant === told.violation?.invariant ? again : undefined;
    return { name, covered, caught: told, histories: seed, alibi, unkept };
  }
  return { name, covered, caught: undefined, histories: most, alibi: undefined, unkept: undefined };
}

/** Whether the history breaks the promise of the mutant, or any promise for a mutant without one or a covered one. */
function isBroken({ violation }: Told, { covered, promise }: Mutant): boolean {
  return violation !== undefined && (promise === undefined || covered !== undefined || violation.invariant === promise);
}

/** A table of mutants and their outcomes. */
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

function verdict({ covered, caught, histories, alibi, unkept }: Hunt): string {
  if (unkept !== undefined) return `UNKEPT: with the guard "${unkept.violation?.invariant}" is broken, too`;
  if (alibi !== undefined) return `NOT TO BLAME: the real operator breaks "${alibi.violation?.invariant}" too`;
  if (caught !== undefined)
    return `caught in history ${histories}: ${caught.violation?.invariant}: ${caught.violation?.detail.slice(0, 90)}`;
  return covered === undefined ? `MISSED in ${histories} histories` : `covered: ${covered}`;
}
