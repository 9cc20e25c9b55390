import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, instance } from "#kit/e2e/e2e.ts";
import { emptyVolume, killEtcd } from "#kit/e2e/load-accidents.ts";
import { expectPromised, LONGEST_OUTAGE_MS, LoadedCluster } from "#kit/e2e/loaded-cluster.ts";

// One cluster is scaled and healed while clients write and read without pause. After each chapter no object may be left
// over, and for each key one linearizable register must explain what clients saw. Longer runs:
// test/long/membership.test.ts.

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("membership", { replicas: 1 });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

async function scaleTo(replicas: number): Promise<readonly string[]> {
  await cluster.scale(replicas);
  return await cluster.untilWhole(replicas);
}

test("a cluster is scaled from 1 to 3, 5, 3 and 1 members while clients write", async () => {
  for (const replicas of [3, 5, 3, 1]) {
    const felt = await cluster.feltDuring(`to ${replicas}`, () => scaleTo(replicas));
    expectPromised(felt);
  }
  expect(await cluster.names("etcdpeers")).toEqual(["my-etcd-0"]);
});

test("a cluster is scaled to 5 and back to 3 before the scale-up is complete, twice", async () => {
  await scaleTo(3);
  const felt = await cluster.feltDuring("3 to 5 to 3 to 5 to 3", async () => {
    for (let turn = 0; turn < 2; turn++) {
      await cluster.scale(5);
      await eventually(async () => expect((await cluster.names("etcdpeers")).length).toBeGreaterThan(3));
      await cluster.scale(3);
      await eventually(async () => {
        const { status, metadata } = await cluster.get();
        expect(status?.observedGeneration).toBe(metadata.generation);
      });
    }
    await cluster.untilWhole(3);
  });
  expectPromised(felt, 4);
});

test("when the leader's pod is killed, another member becomes the leader, and the pod is recreated", async () => {
  const { status } = await cluster.get();
  const leader = status?.leader ?? "";
  const felt = await cluster.feltDuring("leader killed", async () => {
    await cluster.kubectl("delete", "pod", await cluster.podOf(leader), "--grace-period=0", "--force");
    await eventually(async () => expect((await cluster.get()).status?.leader).not.toBe(leader));
    expect(await cluster.untilWhole(3)).toContain(leader);
  });
  expectPromised(felt);
});

test("when all three pods are deleted at once, the same members start again", async () => {
  const before = await cluster.names("etcdpeers");
  const felt = await cluster.feltDuring("all pods deleted", async () => {
    await cluster.kubectl("delete", "pods", "--all", "--wait=false");
    expect(await cluster.untilWhole(3)).toEqual(before);
  });
  expect(felt.longestPauseMs).toBeLessThan(LONGEST_OUTAGE_MS);
});

test("a cluster scaled to 0 and back keeps its members and claims", async () => {
  const before = await cluster.untilWhole(3);
  const idsOf = async () => (await cluster.get()).status?.members?.map(({ name, id }) => `${name} ${id}`);
  const claimsOf = async () => (await cluster.list("pvc")).map(({ metadata }) => metadata.uid).sort();
  const [ids, claims] = [await idsOf(), await claimsOf()];
  const felt = await cluster.feltDuring("asleep", async () => {
    await cluster.scale(0);
    await eventually(async () => {
      expect(await cluster.names("pods")).toEqual([]);
      const { status } = await cluster.get();
      const said = status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
      expect(said).toEqual(
        expect.arrayContaining(["Ready False Asleep", "Progressing False Asleep", "Degraded False Asleep"]),
      );
      expect(status?.replicas).toBe(0);
    });
    expect(await cluster.names("etcdpeers")).toEqual(before);
    await cluster.scale(3);
    expect(await cluster.untilWhole(3)).toEqual(before);
  });
  expect(felt.longestPauseMs).toBeLessThan(2 * LONGEST_OUTAGE_MS);
  expect([await idsOf(), await claimsOf()]).toEqual([ids, claims]);
});

test("a member with an emptied volume is replaced, and its claim is quarantined", async () => {
  const { name, pod } = await cluster.memberAwayFromOperator();
  const felt = await cluster.feltDuring("volume emptied", async () => {
    await emptyVolume(instance, pod.spec.nodeName, await cluster.volumeOf(name));
    await killEtcd(pod.metadata.uid);
    await eventually(async () => expect(await cluster.quarantined()).toContain(name), 120_000);
    expect(await cluster.untilWhole(3)).not.toContain(name);
  });
  expectPromised(felt);
});

test("no acknowledged write is missing, and all members have the same data", async () => {
  await cluster.end();
});
