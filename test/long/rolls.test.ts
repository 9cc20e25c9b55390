import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, kubectl, node } from "#kit/e2e/e2e.ts";
import { evict } from "#kit/e2e/eviction.ts";
import { expectPromised, LONGEST_OUTAGE_MS, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";

// Clusters are restarted member by member while clients write and read without pause. Several restart at once, one has
// a node drained halfway, and one has a member down. The clients' history is checked like any other.

/** Time for the operator to react on a busy machine. */
const SOON_MS = 240_000;
const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";
const SIZES = [1, 2, 3, 4, 5];
/** Clusters that later tests need. */
const STAYING = [3, 5];
/** The clients of all five clusters together send about as much as those of one cluster elsewhere, in milliseconds. */
const EVERY_MS = 200;
/** How long something must not happen while a member is down: longer than any member's restart takes. */
const STAYS_MS = 15_000;

const clusters = new Map<number, LoadedCluster>();

beforeAll(async () => {
  const started = SIZES.map(async (replicas) => {
    clusters.set(replicas, await LoadedCluster.start(`rolls-${replicas}`, { replicas, load: { everyMs: EVERY_MS } }));
  });
  await Promise.all(started);
});

afterAll(async () => {
  await kubectl.run(["uncordon", "--all"], { mayFail: true });
  await Promise.all([...clusters.values()].map((cluster) => cluster[Symbol.asyncDispose]()));
});

function clusterOf(size: number): LoadedCluster {
  const cluster = clusters.get(size);
  if (cluster === undefined) throw new Error(`the cluster of ${size} has not come up`);
  return cluster;
}

async function memberIds(cluster: LoadedCluster): Promise<readonly string[]> {
  return (await cluster.members("my-etcd-0")).map(({ id }) => id);
}

async function restart(cluster: LoadedCluster, at: string): Promise<void> {
  await cluster.patch({ podTemplate: { metadata: { annotations: { [RESTARTED_AT]: at } } } });
}

/** UIDs of the members' pods that have this restart annotation, by peer. */
async function restartedPods(cluster: LoadedCluster, at: string): Promise<Readonly<Record<string, string>>> {
  const made = [...(await cluster.memberPods())].filter(
    ([, { metadata }]) => metadata.annotations?.[RESTARTED_AT] === at,
  );
  return Object.fromEntries(made.map(([peer, { metadata }]) => [peer, metadata.uid]));
}

async function untilAllRestarted(cluster: LoadedCluster, members: number, at: string): Promise<void> {
  await eventually(async () => expect(Object.keys(await restartedPods(cluster, at))).toHaveLength(members), SOON_MS);
  await cluster.untilWhole(members, SOON_MS);
}

test("five clusters of different sizes complete a rolling restart at the same time", { timeout: 600_000 }, async () => {
  const rolls = SIZES.map(async (size) => {
    const cluster = clusterOf(size);
    const ids = await memberIds(cluster);
    const felt = await cluster.feltDuring(`restart of ${size}`, async () => {
      await restart(cluster, "first");
      await untilAllRestarted(cluster, size, "first");
    });
    // Clusters of one and two members are unavailable for a while, and five pods at a time are a load for few
    // processors. Other tests measure how little clients notice in a single cluster.
    expect(felt.acknowledgedWrites).toBeGreaterThan(0);
    expect(felt.longestPauseMs).toBeLessThan(LONGEST_OUTAGE_MS);
    expect(await memberIds(cluster)).toEqual(ids);
    const { status } = await cluster.get();
    expect(status).not.toHaveProperty("update");
  });
  const failed = (await Promise.allSettled(rolls)).filter(({ status }) => status === "rejected");
  expect(failed).toEqual([]);
  // The next tests are about one cluster each, which gets all processors.
  for (const size of SIZES.filter((each) => !STAYING.includes(each))) {
    const cluster = clusterOf(size);
    clusters.delete(size);
    await cluster.end();
    await cluster[Symbol.asyncDispose]();
  }
});

test("a node drain during a rolling restart does not lose the quorum", {
  timeout: 600_000,
}, async () => {
  const cluster = clusterOf(3);
  const felt = await cluster.feltDuring("restart and drain", async () => {
    await restart(cluster, "drained");
    await eventually(async () => expect(await restartedPods(cluster, "drained")).not.toEqual({}), SOON_MS);
    const done = await restartedPods(cluster, "drained");
    const [, pod] = [...(await cluster.memberPods())].find(([peer]) => done[peer] === undefined) ?? [];
    if (pod === undefined) throw new Error("all members were restarted before the drain began");
    await kubectl.run(["cordon", pod.spec.nodeName]);
    try {
      console.log(`the budget refused the eviction ${await evict(pod, cluster.namespace)} times`);
      // The evicted member's volume is on that node: until it is uncordoned the member is down, and no other may
      // restart.
      await sleep(STAYS_MS);
      const ready = (await cluster.get()).status?.readyMembers;
      expect(ready).toBe("2/3");
    } catch (thrown) {
      // If the member was already restarting, its pod changed before the eviction.
      if (!String(thrown).includes("NotFound") && !String(thrown).includes("Conflict")) throw thrown;
    } finally {
      await kubectl.run(["uncordon", pod.spec.nodeName]);
    }
    await untilAllRestarted(cluster, 3, "drained");
  });
  expectPromised(felt, 3 + 1);
});

test("a rolling restart waits while a member is down and continues when the member is back", {
  timeout: 600_000,
}, async () => {
  const cluster = clusterOf(5);
  const { name, nodeNumber } = await cluster.memberAwayFromOperator();
  const felt = await cluster.feltDuring("restart with a member down", async () => {
    await node("stop", nodeNumber);
    try {
      await cluster.untilCondition("Degraded", "True", "MembersUnhealthy");
      await restart(cluster, "down");
      await eventually(async () => expect((await cluster.get()).status?.update?.waitingFor).toBeDefined(), SOON_MS);
      await sleep(STAYS_MS);
      expect(await restartedPods(cluster, "down")).toEqual({});
    } finally {
      await node("start", nodeNumber);
    }
    await untilAllRestarted(cluster, 5, "down");
  });
  expect(await cluster.names("etcdpeers")).toContain(name);
  expectPromised(felt, 5 + 2 * 2);
});

test("no acknowledged write is missing in the clusters, and all members have the same data", async () => {
  for (const cluster of clusters.values()) await cluster.end();
});
