import { expect } from "vitest";
import { testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

const bootstrap: Scenario = {
  name: "bootstrap",
  act: (world) => world.create({ replicas: 3 }),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsOwnIdentity,
};

async function mustHaveItsOwnIdentity(world: World): Promise<void> {
  const cluster = await world.cluster();
  const { uid = "" } = cluster?.metadata ?? {};
  const expected = world.expectedClusterId(uid, ["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  expect(cluster?.status?.identity?.clusterID).toBe(expected);
}

testSweeps([{ scenario: bootstrap, mustWrite: ["POST persistentvolumeclaims/my-etcd-2", "PUT etcdpeers/my-etcd-2"] }]);
