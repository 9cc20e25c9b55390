import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

const scaleUp: Scenario = {
  name: "scale up",
  prepare: (world) => readyWith(world, 1),
  act: (world) => scale(world, 3),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsData,
};

const scaleDown: Scenario = {
  name: "scale down",
  async prepare(world) {
    await readyWith(world, 3);
    await world.lead("my-etcd-2"); // the first removed member: leadership must be transferred
  },
  act: (world) => scale(world, 1),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsData,
};

async function scale(world: World, replicas: number): Promise<void> {
  await world.kubectl("scale", "etcdcluster", world.name, `--replicas=${replicas}`);
}

testSweeps([
  { scenario: scaleUp, mustWrite: ["MemberAdd", "MemberPromote", "POST persistentvolumeclaims/my-etcd-2"] },
  { scenario: scaleDown, mustWrite: ["MoveLeader", "MemberRemove", "DELETE persistentvolumeclaims/my-etcd-1"] },
]);
