import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign, inWords } from "./campaign.ts";
import { SWITCHED } from "./leanings.ts";
import { story } from "./story.ts";

/**
 * Number of histories: enough to meet members at every step of a switch, in both directions. Histories with five
 * members take longer, so there are fewer.
 */
const HISTORIES = Number(process.env.SIMULATION_SWITCHES ?? 20);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);

describe("simulation: TLS is switched on, off, and back halfway", () => {
  for (const [when, leaning] of [
    ["with three members", SWITCHED],
    ["while the cluster forms", { ...SWITCHED, startsFormed: false, steps: 200 }],
    [
      "with five members, some of them hanging, cut off or lost",
      {
        ...SWITCHED,
        replicas: 5,
        often: { ...SWITCHED.often, nodeDown: 1, hideMember: 1, deleteClaim: 1, cutNode: 1 },
      },
    ],
    ["with one member", { ...SWITCHED, replicas: 1 }],
  ] as const)
    test(`the TLS switch violates no invariant ${when}`, { timeout: 3_600_000 }, async () => {
      const report = await campaign(Math.ceil(HISTORIES / (leaning.replicas === 5 ? 4 : 1)), FIRST_SEED, leaning);
      console.log(inWords(report));
      assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    });
});
