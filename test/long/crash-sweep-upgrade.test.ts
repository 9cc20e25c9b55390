import { expect } from "vitest";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

const NEXT = "3.7.3";

// A rolling restart for any other reason makes the same writes.
const upgrade: Scenario = {
  name: "upgrade",
  // Each member gets one new pod; which one existed when the operator died is chance.
  mayBeMadeAnew: (object) => object.startsWith("Pod "),
  withinMs: 180_000,
  async prepare(world) {
    await readyWith(world, 3);
    await world.lead("my-etcd-2"); // the leader is updated last, whatever its ordinal: leadership must be transferred
  },
  act: (world) => world.patch({ version: NEXT }),
  settled: mustBeDone,
  holds: mustHaveItsData,
};

async function mustBeDone(world: World): Promise<void> {
  await world.mustBeReady();
  const { status } = await world.get();
  expect(status).not.toHaveProperty("update");
  expect(status?.members?.map(({ version }) => version)).toEqual([NEXT, NEXT, NEXT]);
}

testSweeps([
  {
    scenario: upgrade,
    mustWrite: [
      "PUT etcdpeers/my-etcd-0",
      "PUT replicasets/my-etcd-1",
      "MoveLeader",
      ...[0, 1, 2].map((n) => `DELETE pods/my-etcd-${n}`),
    ],
  },
]);
