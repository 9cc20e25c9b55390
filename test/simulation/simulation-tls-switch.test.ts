import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign, inWords } from "./campaign.ts";
import { SWITCHED } from "./leanings.ts";
import { story } from "./story.ts";

/** Of five members each takes longer than of three. Enough for members to be met at every step of the way, there and back. */
const HISTORIES = Number(process.env.SIMULATION_SWITCHES ?? 20);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);

describe("simulation: TLS is switched on and off, and taken back half way", () => {
  for (const [when, leaning] of [
    ["while it runs", SWITCHED],
    ["from its first day on", { ...SWITCHED, startsFormed: false, steps: 200 }],
    [
      "of five members, of which some hang, or are cut off or lost",
      {
        ...SWITCHED,
        replicas: 5,
        often: { ...SWITCHED.often, nodeDown: 1, hideMember: 1, deleteClaim: 1, cutNode: 1 },
      },
    ],
    ["alone", { ...SWITCHED, replicas: 1 }],
  ] as const)
    test(`breaks no promise to a cluster: ${when}`, { timeout: 3_600_000 }, async () => {
      const report = await campaign(Math.ceil(HISTORIES / (leaning.replicas === 5 ? 4 : 1)), FIRST_SEED, leaning);
      console.log(inWords(report));
      assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    });
});
