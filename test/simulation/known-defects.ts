import type { StoryName } from "./stories/all.ts";

// What the operator is known to do wrong.
//   Each defect has a story that shows it (stories/, told by test/unit/simulation-stories.test.ts): the story is expected to fail as
//   long as the defect stands in FAILING. What random histories do not do, or do not ask, because of it stands in SPARED.
//   Once a defect is mended: delete its line in FAILING, then its line in SPARED, and tell histories.
//   To try it beforehand: SIMULATION_HARDER=name,name or SIMULATION_HARDER=all.

/** Stories that are expected to fail, by the name of the story: what the operator does wrong. */
export const FAILING: Readonly<Partial<Record<StoryName, string>>> = {};

/** What random histories are spared, by the name of the defect. */
export const SPARED: Readonly<Partial<Record<KnownDefect, string>>> = {};

export type KnownDefect =
  | "versionLeaks"
  | "versionForgotten"
  | "healthyIsLost"
  | "asideIsUntold"
  | "budgetMiscounts"
  | "endlessReplacement"
  | "formingPolls"
  | "foreignVoters"
  | "foreignLearners"
  | "noSpaceUnseen"
  | "founderForgot";

/** @param kinder false: nothing is spared */
export function sparedIn(kinder: boolean): ReadonlySet<KnownDefect> {
  const names = Object.keys(SPARED) as KnownDefect[];
  const harder = new Set(process.env.SIMULATION_HARDER?.split(",") ?? []);
  return new Set(kinder && !harder.has("all") ? names.filter((name) => !harder.has(name)) : []);
}
