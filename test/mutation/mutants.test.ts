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

const excuses = JSON.parse(readFileSync(new URL("excused.json", import.meta.url), "utf8")) as readonly Excuse[];

test.each(["peer", "cluster"])(
  "mutations: a table case of room %s notices every one",
  { timeout: 600_000 },
  async (room) => {
    const { mutations, survivors } = await trial(process.cwd(), room, expect);
    const excused = excuses.filter((excuse) => excuse.room === room).map(({ mutation }) => mutation);
    console.log(`${room}: ${mutations} mutations, ${survivors.length} survive, ${excused.length} excused`);
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
