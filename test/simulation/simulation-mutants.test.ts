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

/** Time limit in milliseconds: minutes of processor time, beside test levels that have precedence. */
const HUNT = { timeout: 40 * 60_000 };

/** Hunts of all mutants, shared by two tests. */
const hunted = hunts();

test("simulation: every mutant is detected, or states what else keeps the invariant", HUNT, async () => {
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
    "the promise is broken despite the guard",
  );
});

/** Promises about a history as a whole, in addition to those about events. */
const OF_THE_WHOLE = ["converges", "ends well", "rests"];

test("simulation: every invariant is violated by some mutant", HUNT, async () => {
  const told = [...(await forgetfulVoter(true)), ...(await credulousOperator(true))];
  const broken = new Set([...(await hunted).flatMap(({ caught }) => caught?.violation?.invariant ?? []), ...told]);
  const promises = [...INVARIANTS.map(({ name }) => name), ...OF_THE_WHOLE];
  assert.deepEqual(
    promises.filter((name) => !broken.has(name)),
    [],
  );
});

test("simulation: acknowledged writes are lost only if voters with an empty disk may start", async () => {
  assert.deepEqual([...(await forgetfulVoter(false))], []);
  assert.ok((await forgetfulVoter(true)).has("nothing lost"));
});

test("simulation: an operator that records an identity without existing claims is detected", async () => {
  assert.deepEqual([...(await credulousOperator(false))], []);
  assert.ok((await credulousOperator(true)).has("recorded claims exist"));
});

test("simulation: every rule and every guard is left out by some mutant", () => {
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

test("simulation: a mutant covered by a pair names the invariant that the pair violates", () => {
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
