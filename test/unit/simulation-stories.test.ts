import assert from "node:assert/strict";
import { test } from "vitest";
import { deletedPeerOnADeadWatch, madeAgainBeforeItEverRan } from "../simulation/stories.ts";

// After 10 s the operator no longer waits to see its own write, and decides on the EtcdCluster as it was before the member had
// joined. A create has no precondition that could hold it back, so the API server is asked first.
test("simulation: a member that has joined is never told to bootstrap, whatever the caches miss", async () => {
  const peer = await deletedPeerOnADeadWatch();
  assert.equal(peer?.spec.bootstrap, undefined);
});

// Its claims are there and never had a volume, so nobody ever ran: forming it goes on.
test("simulation: a cluster that is made again before it ever ran comes up", async () => {
  const cluster = await madeAgainBeforeItEverRan();
  assert.equal(cluster?.status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
});
