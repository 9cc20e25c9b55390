import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign } from "./campaign.ts";
import type { Leaning } from "./profile.ts";
import { story } from "./story.ts";

// Clusters that people put to sleep and wake, again and again, while everything else goes wrong as ever.

const HISTORIES = Number(process.env.SIMULATION_SLEEPS ?? 40);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);

const WOKEN = { onlyThat: true, startsFormed: true, isTidied: true } as const;
const LEANINGS: Readonly<Record<string, Leaning>> = {
  "and nothing else happens": { ...WOKEN, often: { sleep: 3 }, obstacle: "none" },
  "while members still stop": { ...WOKEN, often: { sleep: 8, time: 30 }, obstacle: "none" },
  "while members still stop, and in the end nobody may be wanted": {
    ...WOKEN,
    often: { sleep: 5, time: 20, editReplicas: 1, deleteClaim: 1 },
    isTidied: false,
  },
  "in the middle of anything": { often: { sleep: 2, editReplicas: 2 }, startsFormed: true },
  "and disks are lost": { ...WOKEN, often: { sleep: 3, emptyDisk: 2, deleteClaim: 1 } },
  "and updates are asked for": { ...WOKEN, often: { sleep: 2, editVersion: 2, editTemplate: 2 } },
  "and updates are asked for, and nobody takes them back": {
    ...WOKEN,
    often: { sleep: 2, editVersion: 2, editTemplate: 2 },
    isTidied: false,
  },
  "while it forms": { ...WOKEN, often: { sleep: 3, emptyDisk: 1, crashOperator: 1 }, startsFormed: false, steps: 80 },
};

describe("simulated sleepers break no promise", () => {
  test.each(Object.entries(LEANINGS))("%s", async (_, leaning) => {
    const report = await campaign(HISTORIES, FIRST_SEED, leaning);
    assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    assert.ok((report.decided.get("cluster: fall-asleep") ?? 0) > 0, "some cluster falls asleep");
    assert.ok((report.decided.get("cluster: wake-up") ?? 0) > 0, "some cluster wakes up");
  });
});
