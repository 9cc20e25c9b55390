// Why a part? Thousands of simulated histories and of mutations take many minutes of both processors, and none of them waits for
// anybody. So `npm test` tells some of each, the commit chooses which, and chapters of the long tests tell all of them.

/** Histories that a commit tells; the long tests tell all that commits choose from. */
export const HISTORIES = 250;
export const ALL_HISTORIES = 10_000;
const WINDOWS = ALL_HISTORIES / HISTORIES;

/** A commit tries one in so many mutations. */
const MUTATION_PARTS = 6;

/** What a commit tells of what is computed. */
export interface ComputedPart {
  /** Seeds of histories are numbered from 1. */
  readonly firstSeed: number;
  /** Such as `2/6`: the second of six parts of the mutations. */
  readonly mutations: string;
}

/** @param commit hash of the commit, in hexadecimal; what it chooses here and in the long tests has nothing to do with each other */
export function partOf(commit: string): ComputedPart {
  const number = (from: number, of: number): number => Number.parseInt(commit.slice(from, from + 8), 16) % of;
  return {
    firstSeed: 1 + number(8, WINDOWS) * HISTORIES,
    mutations: `${1 + number(16, MUTATION_PARTS)}/${MUTATION_PARTS}`,
  };
}
