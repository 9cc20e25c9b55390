import { type Told, tell } from "./history.ts";
import { ORDINARY, type Profile } from "./profile.ts";

/** Number of seeds that are tried with each smaller profile: with other faults the same seed gives another history. */
const SEEDS = 12;

/** A shorter history with fewer kinds of faults that breaks the same promise; the given one when none is found. */
export async function shrink(told: Told): Promise<Told> {
  let best = told;
  for (const smaller of simpler(told.profile)) {
    for (let seed = 0; seed < SEEDS; seed++) {
      const profile = smaller({ ...best.profile, seed: best.profile.seed + seed * 7919 });
      const other = await tell(profile);
      if (other.violation?.invariant !== told.violation?.invariant || other.steps > best.steps) continue;
      best = other;
      break;
    }
  }
  return best;
}

/** Smaller profiles, each with one thing left out. */
function simpler({ weights, callFaults }: Profile): readonly ((profile: Profile) => Profile)[] {
  const kinds = [...weights.keys()].filter((kind) => !(ORDINARY as readonly string[]).includes(kind));
  const faults = Object.keys(callFaults) as (keyof typeof callFaults)[];
  return [
    ...kinds.map((kind) => (profile: Profile) => ({
      ...profile,
      weights: new Map([...profile.weights].filter(([each]) => each !== kind)),
    })),
    ...faults.map((fault) => (profile: Profile) => ({
      ...profile,
      callFaults: { ...profile.callFaults, [fault]: 0 },
    })),
    ...[0.5, 0.75, 0.75].map((share) => (profile: Profile) => ({
      ...profile,
      steps: Math.ceil(profile.steps * share),
    })),
    (profile: Profile) => ({ ...profile, obstacle: "none" as const }),
    (profile: Profile) => ({ ...profile, replicas: 1 }),
  ];
}
