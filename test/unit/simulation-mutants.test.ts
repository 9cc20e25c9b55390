import assert from "node:assert/strict";
import { test } from "vitest";
import { CLUSTER_GUARDS } from "#cluster/guards.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_GUARDS } from "#peer/guards.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { INVARIANTS } from "../simulation/invariants.ts";
import { MUTANTS, table } from "../simulation/mutants.ts";
import { hunts } from "../simulation/side-by-side.ts";

test("simulation: every mutant is found, or says what else keeps the promise", { timeout: 600_000 }, async () => {
  const found = await hunts();
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
  const promises = INVARIANTS.map(({ name }) => name);
  const unknown = MUTANTS.filter(({ promise }) => promise !== undefined && !promises.includes(promise));
  assert.deepEqual(
    unknown.map(({ name }) => name),
    [],
  );
});
