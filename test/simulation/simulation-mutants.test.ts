import assert from "node:assert/strict";
import { test } from "vitest";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { credulousOperator } from "./credulous-operator.ts";
import { forgetfulVoter } from "./forgetful-voter.ts";
import { INVARIANTS } from "./invariants.ts";
import { MUTANTS, table } from "./mutants.ts";
import { hunts } from "./side-by-side.ts";

/** Minutes of processor time, beside levels that go first, in milliseconds. */
const HUNT = { timeout: 40 * 60_000 };

/** What became of each mutant: found once, asked twice. */
const hunted = hunts();

test("simulation: every mutant is found, or says what else keeps the promise", HUNT, async () => {
  const found = await hunted;
  console.log(table(found));
  assert.equal(found.length, MUTANTS.length);
  const missed = found.filter(({ caught, covered }) => caught === undefined && covered === undefined);
  assert.deepEqual(
    missed.map(({ name }) => name),
    [],
  );
  const innocent = found.filter(({ alibi }) => alibi !== undefined);
  assert.deepEqual(
    innocent.map(({ name }) => name),
    [],
    "the real operator breaks the same promise",
  );
  const unkept = found.filter((each) => each.unkept !== undefined);
  assert.deepEqual(
    unkept.map(({ name }) => name),
    [],
    "the promise is broken although the guard is there",
  );
});

/** Promises that are asked about a history as a whole, beside those of each event. */
const OF_THE_WHOLE = ["converges", "ends well", "rests"];

test("simulation: every promise is seen to be broken by something", HUNT, async () => {
  const told = [...(await forgetfulVoter(true)), ...(await credulousOperator(true))];
  const broken = new Set([...(await hunted).flatMap(({ caught }) => caught?.violation?.invariant ?? []), ...told]);
  const promises = [...INVARIANTS.map(({ name }) => name), ...OF_THE_WHOLE];
  assert.deepEqual(
    promises.filter((name) => !broken.has(name)),
    [],
  );
});

test("simulation: what a voter that forgets would lose is kept", async () => {
  assert.deepEqual([...(await forgetfulVoter(false))], []);
  assert.ok((await forgetfulVoter(true)).has("nothing lost"));
});

test("simulation: who the cluster is is put on record by claims that are there", async () => {
  assert.deepEqual([...(await credulousOperator(false))], []);
  assert.ok((await credulousOperator(true)).has("recorded is there"));
});

test("simulation: every rule and every guard is left out once", () => {
  const names = new Set(MUTANTS.map(({ name }) => name));
  const wanted = [
    ...CLUSTER_RULES.map(({ name }) => `without rule ${name}`),
    ...CLUSTER_GUARDS.map(({ name }) => `without guard ${name}`),
    ...PEER_RULES.map(({ name }) => `without peer rule ${name}`),
    ...PEER_GUARDS.map(({ name }) => `without peer guard ${name}`),
  ];
  assert.deepEqual(
    wanted.filter((name) => !names.has(name)),
    [],
  );
});

test("simulation: who says see the pair names the promise that its pair breaks", () => {
  const pairs = MUTANTS.filter(({ name, covered }) => name.includes(" + ") && covered === undefined);
  const alone = MUTANTS.filter(({ covered }) => covered?.includes("see the pair"));
  const unpaired = alone.filter(
    ({ name, promise }) =>
      !pairs.some((pair) => pair.name.split(" + ").includes(name) && pair.promise === promise && promise !== undefined),
  );
  assert.deepEqual(
    unpaired.map(({ name }) => name),
    [],
  );
  const promises = [...INVARIANTS.map(({ name }) => name), ...OF_THE_WHOLE];
  const unknown = MUTANTS.filter(({ promise, unasked = [] }) =>
    [...unasked, ...(promise === undefined ? [] : [promise])].some((name) => !promises.includes(name)),
  );
  assert.deepEqual(
    unknown.map(({ name }) => name),
    [],
  );
});
