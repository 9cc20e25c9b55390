import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { FAILING } from "./known-defects.ts";
import { STORIES, type StoryName } from "./stories/all.ts";
import { toldOf } from "./stories/scene.ts";
import {
  deletedPeerOnADeadWatch,
  madeAgainBeforeItEverRan,
  madeAgainOnADeadWatch,
  pausedOnADeadWatch,
  scaledDownOnADeadWatch,
} from "./stories.ts";

// After 10 s the operator no longer waits to see its own write. It then decides by the EtcdCluster as it was before the
// member had joined. A create has no precondition that could prevent it, so the API server is read first.
test("simulation: a member that has joined never gets bootstrap flags, even with a stale cache", async () => {
  const peer = await deletedPeerOnADeadWatch();
  assert.equal(peer?.spec.bootstrap, undefined);
});

// The cluster keeps forming: its claims exist and never had a volume, so no member ever ran.
test("simulation: a cluster that is recreated before its members ever ran becomes Ready", async () => {
  const cluster = await madeAgainBeforeItEverRan();
  assert.equal(cluster?.status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
});

// The cache chooses the member to remove. The remaining member may have a terminating claim, so the claims are read
// from the API server first.
test("simulation: scale-down removes the member with the terminating claim, even with a stale cache", async () => {
  assert.deepEqual(await scaledDownOnADeadWatch(), ["db-1"]);
});

// The recorded identity is never corrected. From deleted claims that a stale cache still lists, every member would count
// as joined, and the new cluster would wait for a quorum forever.
test("simulation: a cluster recreated without claims gets a new identity, even with a stale cache", async () => {
  const [cluster, before] = await madeAgainOnADeadWatch(false);
  const { identity, conditions } = cluster?.status ?? {};
  assert.equal(conditions?.find(({ type }) => type === "Ready")?.status, "True");
  assert.notEqual(identity?.clusterID, before);
});

test("simulation: a cluster recreated with its claims keeps its identity, even with a stale cache", async () => {
  const [cluster, before] = await madeAgainOnADeadWatch(true);
  assert.equal(cluster?.status?.identity?.clusterID, before);
});

// Pending restarts and removals are recorded on EtcdPeers, and carried out from there. Only the API server knows that
// the edit was taken back.
test.each([
  ["an update", { version: "3.6.17" }, "replacePeer"],
  ["an update after its first restart", { version: "3.6.17" }, "restartPod"],
  ["a scale-down", { replicas: 2 }, "markRemoval"],
  ["a scale-down after its member removal", { replicas: 2 }, "removeMember"],
  ["a scale-down after the release of a claim", { replicas: 2 }, "releaseClaim"],
])("simulation: nothing more is deleted for %s after a pause in which the edit is reverted", async (_, edit, begun) => {
  assert.deepEqual(await pausedOnADeadWatch(edit, begun), []);
}); // biome-ignore format: a table

describe("simulation: the operator", () => {
  for (const [name, story] of Object.entries(STORIES)) {
    const defect = FAILING[name as StoryName];
    test(`${defect === undefined ? "does not have the defect" : "is known to have the defect"}: ${name}`, async () => {
      const wrong = await toldOf(story);
      if (defect === undefined) assert.equal(wrong, undefined);
      else assert.notEqual(wrong, undefined, `${name} is fixed: delete its line in FAILING (known-defects.ts)`);
    });
  }
});
