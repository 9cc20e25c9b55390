import { expect } from "vitest";
import { eventually } from "#kit/e2e/e2e.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

const deletion: Scenario = {
  name: "deletion",
  prepare: (world) => readyWith(world, 3),
  act: remove,
  settled: mustBeGone,
};

const comeback: Scenario = {
  name: "return",
  async prepare(world) {
    await readyWith(world, 3);
    before.set(world, (await world.get()).status?.identity?.clusterID);
    await remove(world);
    await eventually(() => mustBeGone(world));
  },
  act: (world) => world.create({ replicas: 3 }),
  settled: (world) => world.mustBeReady(),
  async holds(world) {
    await mustHaveItsData(world);
    expect((await world.cluster())?.status?.identity?.clusterID).toBe(before.get(world));
  },
};

/** The cluster ID of the deleted cluster. */
const before = new WeakMap<World, string | undefined>();

async function remove(world: World): Promise<void> {
  await world.kubectl("delete", "etcdcluster", world.name, "--wait=false");
}

/** Everything but claims must be deleted. */
async function mustBeGone(world: World): Promise<void> {
  const left = (await world.objects()).filter(({ kind }) => kind !== "PersistentVolumeClaim");
  if (left.length > 0)
    throw new Error(`there are still ${left.map(({ kind, metadata }) => `${kind} ${metadata.name}`)}`);
}

testSweeps([
  { scenario: deletion, mustWrite: [] }, // none: the garbage collector deletes everything, without the operator
  { scenario: comeback, mustWrite: ["PUT etcdclusters/my-etcd/status", "POST replicasets/my-etcd-2"] },
]);
