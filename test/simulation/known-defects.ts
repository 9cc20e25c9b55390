import type { StoryName } from "./stories/all.ts";

// What the operator is known to do wrong.
//   Each defect has a story that shows it (stories/, told by test/unit/simulation-stories.test.ts): the story is expected to fail as
//   long as the defect stands in FAILING. What random histories do not do, or do not ask, because of it stands in SPARED.
//   Once a defect is mended: delete its line in FAILING, then its line in SPARED, and tell histories.
//   To try it beforehand: SIMULATION_HARDER=name,name or SIMULATION_HARDER=all.

/** Stories that are expected to fail, by the name of the story: what the operator does wrong. */
export const FAILING: Readonly<Partial<Record<StoryName, string>>> = {};

/** What random histories are spared, by the name of the defect. */
export const SPARED = {
  versionLeaks: "people edit spec.version to another patch release only, and members may run what nobody planned",
  healthyIsLost:
    "pods of a node that is cut from the API server are not evicted, and it is not asked whether a member that is removed takes part",
  asideIsUntold:
    "Ready need not be False when a Service or the budget cannot be made because somebody else has its name",
  foreignVoters: "nobody adds members of their own with etcdctl",
  noSpaceUnseen: "it is not asked what the conditions say while the alarm NOSPACE is raised",
  founderForgot: "a first member that lost its disk before it was on record is never replaced: forming need not end",
} as const;

export type KnownDefect = keyof typeof SPARED;

/** @param kinder false: nothing is spared */
export function sparedIn(kinder: boolean): ReadonlySet<KnownDefect> {
  const names = Object.keys(SPARED) as KnownDefect[];
  const harder = new Set(process.env.SIMULATION_HARDER?.split(",") ?? []);
  return new Set(kinder && !harder.has("all") ? names.filter((name) => !harder.has(name)) : []);
}
