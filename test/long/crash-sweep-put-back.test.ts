import { expect } from "vitest";
import { eventually } from "#kit/e2e/e2e.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

/** The shortest timeout possible: the test only waits in this time. */
const MEMBER_TIMEOUT = "10s";

const putBack: Scenario = {
  name: "update that is rolled back",
  // The first updated member gets two more pods: one that fits on no node, and one as before.
  mayBeMadeAnew: (object) => object.startsWith("Pod my-etcd-2-"),
  withinMs: 180_000,
  async prepare(world) {
    await readyWith(world, 3, { updateStrategy: { type: "RollingUpdate", memberTimeout: MEMBER_TIMEOUT } });
    await world.lead("my-etcd-0"); // then my-etcd-2 is updated first
  },
  act: (world) => world.patch({ podTemplate: withResources({ requests: { cpu: "500" } }) }),
  settled: mustBePutBack,
  async holds(world) {
    await mustHaveItsData(world);
    await eventually(async () => expect((await world.memberList()).members).toHaveLength(3));
  },
};

async function mustBePutBack(world: World): Promise<void> {
  const { metadata, status } = await world.get();
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  expect(ready).toMatchObject({ reason: "UpdateStopped", observedGeneration: metadata.generation });
  expect(status?.update?.stopped?.member).toBe("my-etcd-2");
  expect(status?.readyMembers).toBe("3/3");
}

testSweeps([
  {
    scenario: putBack,
    mustWrite: ["PUT etcdpeers/my-etcd-2", "PUT replicasets/my-etcd-2", "DELETE pods/my-etcd-2"],
  },
]);
