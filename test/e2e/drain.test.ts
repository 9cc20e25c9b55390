import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, kubectl } from "#kit/e2e/e2e.ts";
import { evict } from "#kit/e2e/eviction.ts";
import { expectPromised, LoadedCluster, type MemberPod, operatorPods } from "#kit/e2e/loaded-cluster.ts";
import { isReady } from "#kube/pod.ts";

// An administrator upgrades all nodes: each node is cordoned, drained by evictions and uncordoned, and the next one
// follows at once. Only the disruption budget makes the loop wait. Volumes are local, so an evicted member returns when
// its node does.

const NODES = ["node-1", "node-2", "node-3"];
const MEMBERS = 5;
const QUORUM = 3;
let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("drain", { replicas: MEMBERS });
});

afterAll(async () => {
  for (const node of NODES) await kubectl.run(["uncordon", node]);
  await cluster?.[Symbol.asyncDispose]();
});

/** @returns how often an eviction was refused */
async function drain(node: string): Promise<number> {
  await kubectl.run(["cordon", node]);
  const isHere = ({ spec }: MemberPod) => spec.nodeName === node;
  const members = [...(await cluster.memberPods()).values()].filter(isHere);
  expect(members.length).toBeGreaterThan(0);
  let refusals = 0;
  for (const pod of members) refusals += await evict(pod, cluster.namespace);
  for (const pod of (await operatorPods()).filter(isHere)) await evict(pod, "etcd-operator-system");
  await eventually(async () => {
    const left = await cluster.list<MemberPod>("pods");
    expect(left.filter(isHere).map(({ metadata }) => metadata.name)).toEqual([]);
  });
  await kubectl.run(["uncordon", node]);
  return refusals;
}

/** Polls until `work` ends. @returns the smallest number of ready pods that was observed */
async function fewestReadyDuring(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  let fewest = MEMBERS;
  while (!isOver) {
    const pods = await cluster.memberPods();
    fewest = Math.min(fewest, [...pods.values()].filter((pod) => isReady(pod as never)).length);
    await sleep(100);
  }
  return fewest;
}

test("during drains of all nodes, one after another, client interruptions stay within the documented limits", async () => {
  const before = await cluster.untilWhole(MEMBERS);
  const ids = (await cluster.members(before[0]!)).map(({ id }) => id);
  const refusals: number[] = [];
  const felt = await cluster.feltDuring("drain loop", async () => {
    const loop = (async () => {
      for (const node of NODES) refusals.push(await drain(node));
    })();
    const [fewest] = await Promise.all([fewestReadyDuring(loop), loop]);
    console.log(`evictions refused on each node: ${refusals.join(", ")}; fewest ready pods: ${fewest}`);
    expect(fewest).toBeGreaterThanOrEqual(QUORUM);
    expect(await cluster.untilWhole(MEMBERS)).toEqual(before);
  });
  // The next node is cordoned before the last node's members are back: the budget must refuse evictions.
  expect(refusals.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(0);
  expectPromised(felt, NODES.length);
  expect((await cluster.members(before[0]!)).map(({ id }) => id)).toEqual(ids); // no member was replaced
});

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});
