import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, instance, node } from "#kit/e2e/e2e.ts";
import { freezeApiServer } from "#kit/e2e/load-accidents.ts";
import { expectPromised, killOperator, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";

// One cluster survives all of this, while clients write and read without pause. After each chapter no object may be
// left over, and for each key one linearizable register must explain what clients saw.

/**
 * How long the operator waits for a lost member here, in seconds: longer than the partition, shorter than a person
 * would wait.
 */
const REPLACE_AFTER_SECONDS = 30;

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("membership", { operatorFlags: [`--replace-after=${REPLACE_AFTER_SECONDS}s`] });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

test("a member on a node that is cut off returns if the node is back before the replacement time", async () => {
  const before = await cluster.names("etcdpeers");
  const { nodeNumber } = await cluster.memberAwayFromOperator();
  const felt = await cluster.feltDuring("partition", async () => {
    await node("partition", nodeNumber);
    try {
      await cluster.untilCondition("Degraded", "True", "MembersUnhealthy");
    } finally {
      await node("heal", nodeNumber);
    }
    expect(await cluster.untilWhole(3)).toEqual(before);
  });
  expectPromised(felt, 2); // one for the cut, one for the return
});

test("membership changes complete when the operator is killed while a member joins, leaves or is replaced", async () => {
  const felt = await cluster.feltDuring("operator killed", async () => {
    await cluster.scale(5);
    await eventually(async () => expect(await cluster.names("etcdpeers")).toHaveLength(4));
    await killOperator();
    await cluster.untilWhole(5);
    await cluster.scale(3);
    await eventually(async () => expect((await cluster.names("etcdpeers")).length).toBeLessThan(5));
    await killOperator();
    await cluster.untilWhole(3);
    const [name = ""] = await cluster.names("etcdpeers");
    const member = (await cluster.get()).status?.members?.find((each) => each.name === name)?.id;
    await cluster.kubectl("delete", "pvc", name, "--wait=false");
    await cluster.kubectl("delete", "pod", await cluster.podOf(name), "--wait=false");
    // With its claim the name is free: the next member may have the same name, but another ID.
    await eventually(async () => {
      const { status } = await cluster.get();
      expect(status?.members?.map(({ id }) => id)).not.toContain(member);
    }, 120_000);
    await killOperator();
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 3);
});

test("clients of etcd notice nothing while the API server is down", async () => {
  const felt = await cluster.feltDuring("API server away", async () => {
    using _frozen = freezeApiServer(instance);
    await sleep(60_000); // longer than a lease, and than a node may be silent
  });
  expect(felt).toMatchObject({ failedRequests: 0 });
  const back = await cluster.feltDuring("API server back", () => cluster.untilWhole(3));
  expect(back).toMatchObject({ failedRequests: 0 });
});

test("a member on a node that is lost permanently is replaced", async () => {
  const { name, nodeNumber } = await cluster.memberAwayFromOperator();
  try {
    const felt = await cluster.feltDuring("node lost", async () => {
      await node("stop", nodeNumber);
      await eventually(async () => expect(await cluster.names("etcdpeers")).not.toContain(name), 150_000);
      const names = await cluster.untilWhole(3);
      expect(names).not.toContain(name);
      expect(await cluster.quarantined()).toContain(name);
    });
    expectPromised(felt, 2); // one for the loss, one for the replacement
  } finally {
    await node("start", nodeNumber);
  }
  await cluster.untilWhole(3); // leftovers on the node do not become a member when it boots
});

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});
