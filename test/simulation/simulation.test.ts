import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign } from "./campaign.ts";
import { tell } from "./history.ts";
import { ELSEWHERE, keepEveryPromise, RULES, silentRules } from "./kept.ts";
import { COPIED } from "./leanings.ts";
import { hasOnlyEvictions, type Leaning, profileOf } from "./profile.ts";
import { story } from "./story.ts";

/** Enough histories for every rule to decide many times, and few enough for every test run. */
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 2_000);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);
/**
 * First seed in `npm test`, which follows from the commit. Other tests run few histories that were chosen for their
 * content.
 */
const WINDOW = Number(process.env.SIMULATION_WINDOW ?? FIRST_SEED);
const { SIMULATION_SEED } = process.env;

describe.runIf(SIMULATION_SEED !== undefined)("one simulated history", () => {
  test(`with seed ${SIMULATION_SEED} violates no invariant`, { timeout: 3_600_000 }, async () => {
    const told = await tell(profileOf(Number(SIMULATION_SEED)));
    console.log(await story(told));
    assert.equal(told.violation, undefined);
  });
});

describe.runIf(SIMULATION_SEED === undefined)("simulated histories", () => {
  test("violate no invariant", { timeout: 3_600_000 }, async () => {
    const report = await keepEveryPromise(HISTORIES, WINDOW);
    if (HISTORIES >= 10_000) assert.deepEqual(silentRules(report), [], "every rule decides in some history");
  });

  const drain = 8;
  const faulty = { crashOperator: 3, loseLease: 1, breakWatch: 1, muteWatch: 2 };
  const callFaults = { late: 0.3, unsent: 0.1, lostReply: 0.1, throttled: 0.05 };
  const DRAINED: Readonly<Record<string, Leaning>> = {
    "without other events": { often: { drain } },
    "while members are added and removed": { often: { drain, editReplicas: 2 } },
    "while the operator crashes and its caches are stale": { often: { drain, editReplicas: 2, ...faulty }, callFaults },
  };
  test.each(Object.entries(DRAINED))(
    "lose no quorum by evictions that respect the PodDisruptionBudget, %s",
    {
      timeout: 600_000,
    },
    async (_, leaning) => {
      const profile: Leaning = { ...leaning, onlyThat: true, startsFormed: true, obstacle: "none" };
      assert.ok(hasOnlyEvictions(profileOf(FIRST_SEED, profile)));
      const report = await campaign(40, FIRST_SEED, profile);
      assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    },
  );

  test("never start members on copied claims", { timeout: 600_000 }, async () => {
    const report = await campaign(20, FIRST_SEED, { ...COPIED, onlyThat: false });
    assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
  });

  test("exempt only existing rules from deciding in some history", () => {
    assert.deepEqual(
      Object.keys(ELSEWHERE).filter((rule) => !RULES.includes(rule)),
      [],
    );
  });

  test("are the same with the same seed", async () => {
    for (const seed of [3, 14, 15]) {
      const [first, second] = [await linesOf(seed), await linesOf(seed)];
      assert.ok(first.length > 20);
      assert.deepEqual(first, second);
    }
  });
});

async function linesOf(seed: number): Promise<readonly string[]> {
  const lines: string[] = [];
  await tell(profileOf(seed), { trace: (line) => lines.push(line) });
  return lines;
}
