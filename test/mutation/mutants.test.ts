import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Survivor, trial } from "./trial.ts";

/** A mutation that no table case needs to notice. */
interface Excuse {
  readonly room: string;
  /** The declaration that it is in, and the mutation, as the survivors are told. */
  readonly mutation: string;
  /** Why it changes nothing, or which other level notices it. */
  readonly because: string;
}

/**
 * What no table case notices yet, by room. This list only ever gets shorter: what is not in it must be noticed, and what is
 * noticed must not be in it.
 */
const open = read<Readonly<Record<string, readonly string[]>>>("open.json");
const excuses = read<readonly Excuse[]>("excused.json");

function read<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as T;
}

test.each(["peer", "cluster"])(
  "mutations: a table case of room %s notices every one",
  { timeout: 600_000 },
  async (room) => {
    const { mutations, survivors } = await trial(process.cwd(), room, expect);
    const left = open[room] ?? [];
    const excused = [...excuses.filter((excuse) => excuse.room === room).map(({ mutation }) => mutation), ...left];
    console.log(
      `${room}: ${mutations} mutations, ${survivors.length} survive: ${excused.length - left.length} excused, ${left.length} open`,
    );
    const found = survivors.map((survivor) => ({ name: nameOf(survivor), where: whereOf(survivor) }));
    expect(
      found.filter(({ name }) => !excused.includes(name)).map(({ where, name }) => `${where} ${name}`),
      "no table case notices these",
    ).toEqual([]);
    const names = found.map(({ name }) => name);
    expect(
      excused.filter((name) => !names.includes(name)),
      "these are excused, and are noticed or not there",
    ).toEqual([]);
  },
);

test("mutations: every excuse says why, once", () => {
  const names = excuses.map(({ room, mutation }) => `${room} ${mutation}`);
  expect(names).toEqual([...new Set(names)]);
  expect(excuses.filter(({ because }) => because.split(" ").length < 4)).toEqual([]);
});

function nameOf({ within, from, to }: Survivor): string {
  return `${within}: ${from} -> ${to}`;
}

function whereOf({ file, line, isReached }: Survivor): string {
  return `${file}:${line}${isReached ? "" : " (no test comes here)"}`;
}
