import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign } from "./campaign.ts";
import type { Leaning } from "./profile.ts";
import { story } from "./story.ts";

// Clusters that people put to sleep and wake repeatedly, with all other faults.

const HISTORIES = Number(process.env.SIMULATION_SLEEPS ?? 40);
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);

const WOKEN = { onlyThat: true, startsFormed: true, isTidied: true } as const;
const LEANINGS: Readonly<Record<string, Leaning>> = {
  "without other events": { ...WOKEN, often: { sleep: 3 }, obstacle: "none" },
  "while members still stop": { ...WOKEN, often: { sleep: 8, time: 30 }, obstacle: "none" },
  "while members still stop, with a random final size": {
    ...WOKEN,
    often: { sleep: 5, time: 20, editReplicas: 1, deleteClaim: 1 },
    isTidied: false,
  },
  "with all faults": { often: { sleep: 2, editReplicas: 2 }, startsFormed: true },
  "with lost disks": { ...WOKEN, often: { sleep: 3, emptyDisk: 2, deleteClaim: 1 } },
  "with updates": { ...WOKEN, often: { sleep: 2, editVersion: 2, editTemplate: 2 } },
  "with updates that are not taken back": {
    ...WOKEN,
    often: { sleep: 2, editVersion: 2, editTemplate: 2 },
    isTidied: false,
  },
  "while the cluster forms": {
    ...WOKEN,
    often: { sleep: 3, emptyDisk: 1, crashOperator: 1 },
    startsFormed: false,
    steps: 80,
  },
};

describe("simulated clusters that sleep and wake up violate no invariant", () => {
  test.each(Object.entries(LEANINGS))("%s", async (_, leaning) => {
    const report = await campaign(HISTORIES, FIRST_SEED, leaning);
    assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
    assert.ok((report.decided.get("cluster: start-sleep") ?? 0) > 0, "some cluster falls asleep");
    assert.ok((report.decided.get("cluster: wake-up") ?? 0) > 0, "some cluster wakes up");
  });
});
