// Why a part? Thousands of simulated histories and mutations keep all processors busy for many minutes. So `npm test`
// runs some of each, the commit's hash chooses which, and chapters of the long tests run all of them.

/** Histories that one commit runs. */
export const HISTORIES = 250;
/** Histories that all commits together choose from; the long tests run all of them. */
export const ALL_HISTORIES = 10_000;
const WINDOWS = ALL_HISTORIES / HISTORIES;

/** Parts of the mutations, of which one commit tries one. */
const MUTATION_PARTS = 6;

/** Part of the histories and mutations that one commit runs. */
export interface ComputedPart {
  /** First seed of the histories, from 1. */
  readonly firstSeed: number;
  /** Part of the mutations, such as `2/6` for the second of six. */
  readonly mutations: string;
}

/** Chooses the part of a commit, independently of its slice of the long tests. @param commit hash in hexadecimal */
export function partOf(commit: string): ComputedPart {
  const number = (from: number, of: number): number => Number.parseInt(commit.slice(from, from + 8), 16) % of;
  return {
    firstSeed: 1 + number(8, WINDOWS) * HISTORIES,
    mutations: `${1 + number(16, MUTATION_PARTS)}/${MUTATION_PARTS}`,
  };
}
