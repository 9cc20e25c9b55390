import { expect } from "vitest";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/crash-sweep.ts";
import { eventually } from "#kit/e2e.ts";
import type { Scenario } from "#kit/operator-sweep.ts";
import type { World } from "#kit/operator-world.ts";
import { withResources } from "#kit/pod-template.ts";

/** As short as it may be: time in which nothing happens but waiting. */
const MEMBER_TIMEOUT = "10s";

const putBack: Scenario = {
  name: "update that is put back",
  // The first one gets two pods more: one that fits on no node, and one as before.
  mayBeMadeAnew: (object) => object.startsWith("Pod my-etcd-2-"),
  withinMs: 180_000,
  async prepare(world) {
    await readyWith(world, 3, { updateStrategy: { type: "RollingUpdate", memberTimeout: MEMBER_TIMEOUT } });
    await world.lead("my-etcd-0"); // then my-etcd-2 is the first one
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
  expect(status?.ready).toBe("3/3");
}

testSweeps([
  {
    scenario: putBack,
    mustWrite: ["PUT etcdpeers/my-etcd-2", "PUT replicasets/my-etcd-2", "DELETE pods/my-etcd-2"],
  },
]);
