import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { nameOf, type Part, type Survivor, trial } from "./trial.ts";

/** A mutation that no table case needs to notice. */
export interface Excuse {
  readonly room: string;
  /** The declaration that it is in, and the mutation, as the survivors are told. */
  readonly mutation: string;
  /** Why it changes nothing, or which other level notices it. */
  readonly because: string;
}

export const EXCUSES = JSON.parse(readFileSync(new URL("excused.json", import.meta.url), "utf8")) as readonly Excuse[];

/** How long a part of a room's mutations may take beside other tests, which go first, in milliseconds. */
export const PART_TIMEOUT_MS = 1_800_000;

/** `npm test` tries a part of all mutations, such as `2/3`: the second of three. */
const { MUTATION_PART = "1/1" } = process.env;

/** That part of this part. @throws Error when it is none */
export function narrowed({ part, of }: Part, text = MUTATION_PART): Part {
  const [, number, parts] = (/^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? []).map(Number);
  if (number === undefined || parts === undefined || number > parts)
    throw new Error(`MUTATION_PART is "${text}"; it may be 1/3, 2/3 or 3/3, or likewise for another number of parts`);
  return { part: part + of * (number - 1), of: of * parts };
}

/** Fails when a mutation of this part is noticed by no table case and not excused, or excused and noticed. */
export async function everyOneIsNoticed(room: string, part: Part): Promise<void> {
  const { all, tried, survivors } = await trial(process.cwd(), room, narrowed(part), expect);
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

function whereOf({ file, line, isReached }: Survivor): string {
  return `${file}:${line}${isReached ? "" : " (no test comes here)"}`;
}
