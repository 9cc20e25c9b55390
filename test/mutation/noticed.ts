import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { changedLines } from "./changed-lines.ts";
import { nameOf, type Part, type Survivor, trial } from "./trial.ts";

/** A mutation that no table case needs to notice. */
export interface Excuse {
  readonly package: string;
  /** Declaration and mutation, as survivors are reported. */
  readonly mutation: string;
  /** Why it changes nothing, or which other level notices it. */
  readonly because: string;
}

export const EXCUSES = JSON.parse(readFileSync(new URL("excused.json", import.meta.url), "utf8")) as readonly Excuse[];

/** Time limit of one part of a package's mutations beside other tests, which have precedence, in milliseconds. */
export const PART_TIMEOUT_MS = 1_800_000;

/** The part of all mutations that `npm test` tries, such as `2/3`: the second of three. */
const { MUTATION_PART = "1/1" } = process.env;
/** A commit: only mutations of lines that differ from it are tried. */
const { MUTATIONS_SINCE } = process.env;

/** Narrows a part to MUTATION_PART. @throws Error when the text is no part */
export function narrowed({ part, of }: Part, text = MUTATION_PART): Part {
  const [, number, parts] = (/^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? []).map(Number);
  if (number === undefined || parts === undefined || number > parts)
    throw new Error(`MUTATION_PART is "${text}"; it may be 1/3, 2/3 or 3/3, or likewise for another number of parts`);
  return { part: part + of * (number - 1), of: of * parts };
}

/** Fails when a mutation of this part is neither noticed nor excused, or is excused and noticed. */
export async function everyOneIsNoticed(name: string, part: Part): Promise<void> {
  const lines = MUTATIONS_SINCE === undefined ? undefined : changedLines(process.cwd(), MUTATIONS_SINCE);
  const { all, tried, survivors } = await trial(process.cwd(), name, { ...narrowed(part), lines }, expect);
  const names = new Set(tried.map(nameOf));
  const known = new Set(all.map(nameOf));
  const excused = EXCUSES.filter((excuse) => excuse.package === name)
    .map(({ mutation }) => mutation)
    .filter((name) => names.has(name) || (!known.has(name) && part.part === 0));
  const unnoticed = survivors
    .filter((each) => !excused.includes(nameOf(each)))
    .map((each) => `${whereOf(each)} ${nameOf(each)}`);
  const counts = `${name}: ${tried.length} mutations, ${survivors.length} survive, ${excused.length} excused`;
  console.log([counts, ...unnoticed].join("\n  "));
  if (lines === undefined) expect(tried.length).toBeGreaterThan(0);
  expect(unnoticed, "no table case notices these mutations").toEqual([]);
  const surviving = survivors.map(nameOf);
  expect(
    excused.filter((name) => !surviving.includes(name)),
    "these excused mutations are noticed or do not exist",
  ).toEqual([]);
}

function whereOf({ file, line, isReached }: Survivor): string {
  return `${file}:${line}${isReached ? "" : " (no test reaches it)"}`;
}
