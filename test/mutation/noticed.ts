import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Mutation } from "./mutations.ts";
import { type Part, type Survivor, trial } from "./trial.ts";

/** A mutation that no table case needs to notice. */
export interface Excuse {
  readonly room: string;
  /** The declaration that it is in, and the mutation, as the survivors are told. */
  readonly mutation: string;
  /** Why it changes nothing, or which other level notices it. */
  readonly because: string;
}

export const EXCUSES = JSON.parse(readFileSync(new URL("excused.json", import.meta.url), "utf8")) as readonly Excuse[];

/** How long a part of a room's mutations may take on a busy machine, in milliseconds. */
export const PART_TIMEOUT_MS = 600_000;

/** Fails when a mutation of this part is noticed by no table case and not excused, or excused and noticed. */
export async function everyOneIsNoticed(room: string, part: Part): Promise<void> {
  const { all, tried, survivors } = await trial(process.cwd(), room, part, expect);
  const names = new Set(tried.map(nameOf));
  const known = new Set(all.map(nameOf));
  const excused = EXCUSES.filter((excuse) => excuse.room === room)
    .map(({ mutation }) => mutation)
    .filter((name) => names.has(name) || (!known.has(name) && part.part === 0));
  console.log(`${room}: ${tried.length} mutations, ${survivors.length} survive, ${excused.length} excused`);
  expect(tried.length).toBeGreaterThan(0);
  expect(
    survivors.filter((each) => !excused.includes(nameOf(each))).map((each) => `${whereOf(each)} ${nameOf(each)}`),
    "no table case notices these",
  ).toEqual([]);
  const surviving = survivors.map(nameOf);
  expect(
    excused.filter((name) => !surviving.includes(name)),
    "these are excused, and are noticed or not there",
  ).toEqual([]);
}

function nameOf({ within, from, to }: Mutation): string {
  return `${within}: ${from} -> ${to}`;
}

function whereOf({ file, line, isReached }: Survivor): string {
  return `${file}:${line}${isReached ? "" : " (no test comes here)"}`;
}
