import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { campaign } from "./campaign.ts";
import { tell } from "./history.ts";
import { type Leaning, profileOf } from "./profile.ts";
import { story } from "./story.ts";

// EtcdRoles and EtcdUsers that people create, edit, rotate and delete, with changes by etcdctl and all other faults.

const HISTORIES = Number(process.env.SIMULATION_ACCESS ?? 4);
/**
 * Upper bound of histories until a role got a permission and a user a role. In a leaning with many faults about every
 * third history has both.
 */
const MOST_HISTORIES = 10 * HISTORIES;
const GRANTS = ["role: grant-permission", "user: grant-role"];
const FIRST_SEED = Number(process.env.SIMULATION_FIRST_SEED ?? 1);
const { SIMULATION_SEED } = process.env;

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const ALONE: Leaning = {
  hasAccess: true,
  onlyThat: true,
  startsFormed: true,
  isTidied: true,
  obstacle: "none",
  steps: 150,
  often: { putAccess: 10 },
};
const ASKED: Leaning = { ...ALONE, tls: { peer: LIFE, client: LIFE }, auth: true };
const LEANINGS: Readonly<Record<string, Leaning>> = {
  "without other events": ALONE,
  "with auth": ASKED,
  "with changes by etcdctl": {
    ...ASKED,
    replicas: 1,
    often: { putAccess: 10, editAccessByHand: 8, editBinding: 4 },
  },
  "with operator crashes and lost calls": {
    ...ASKED,
    often: { putAccess: 10, editBinding: 3, crashOperator: 5, deliver: 15 },
    callFaults: { late: 0.4, unsent: 0.1, lostReply: 0.15, throttled: 0.05 },
  },
  "with clusters that are created, sleep and are deleted": {
    ...ASKED,
    replicas: 1,
    often: { putAccess: 10, sleep: 1, pause: 1, deleteCluster: 1, createCluster: 2, createRival: 1, switchAuth: 1 },
  },
  "with all faults": { hasAccess: true, startsFormed: true, often: { putAccess: 10 } },
};

describe.runIf(SIMULATION_SEED !== undefined)("one history of users and roles", () => {
  test.each(Object.entries(LEANINGS))(`with seed ${SIMULATION_SEED} violates no invariant: %s`, async (_, leaning) => {
    const told = await tell(profileOf(Number(SIMULATION_SEED), leaning));
    if (told.violation !== undefined) console.log(await story(told));
    assert.equal(told.violation, undefined);
  });
});

describe.runIf(SIMULATION_SEED === undefined)("simulated users and roles violate no invariant", () => {
  test.each(Object.entries(LEANINGS))("%s", async (_, leaning) => {
    const granted = new Set<string>();
    for (let told = 0; told < HISTORIES || (told < MOST_HISTORIES && granted.size < GRANTS.length); told++) {
      const report = await campaign(1, FIRST_SEED + told, leaning);
      assert.equal(report.broken, undefined, report.broken === undefined ? "" : await story(report.broken));
      for (const rule of GRANTS) if (report.decided.has(rule)) granted.add(rule);
    }
    assert.deepEqual([...granted].sort(), GRANTS);
  });
});
