import { hexOf } from "#etcd/types.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";

const replacement: Scenario = {
  name: "replacement",
  mayBeMadeAnew: (object) => object.includes("my-etcd-2"),
  prepare: (world) => readyWith(world, 3),
  /** Deletes volume and pod. */
  async act(world) {
    await world.kubectl("delete", "pvc", "my-etcd-2", "--wait=false");
    await world.kubectl("delete", "pod", await world.podOf("my-etcd-2"), "--wait=false");
  },
  async settled(world) {
    const { members } = await world.memberList();
    const [, , first] = (await world.get()).status?.identity?.initialMembers ?? [];
    if (members.some(({ id }) => hexOf(id) === first?.id)) throw new Error("the lost member is still in the list");
    await world.mustBeReady();
  },
  holds: mustHaveItsData,
};

testSweeps([{ scenario: replacement, mustWrite: ["MemberRemove", "MemberAdd", "MemberPromote"] }]);
