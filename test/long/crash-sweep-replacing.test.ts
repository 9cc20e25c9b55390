import { hexOf } from "#etcd/types.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/crash-sweep.ts";
import { instance } from "#kit/e2e.ts";
import { emptyVolume, killEtcd } from "#kit/load-accidents.ts";
import type { MemberPod } from "#kit/loaded-cluster.ts";
import type { Scenario } from "#kit/operator-sweep.ts";

const replacement: Scenario = {
  name: "replacement",
  mayBeMadeAnew: (object) => object.includes("my-etcd-2"),
  prepare: (world) => readyWith(world, 3),
  /** Volume and pod are gone. */
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

const quarantine: Scenario = {
  name: "replacement of an emptied member",
  mayBeMadeAnew: (object) => object.includes("my-etcd-2"),
  prepare: (world) => readyWith(world, 3),
  async act(world) {
    const pod = await world.json<MemberPod>("get", "pod", await world.podOf("my-etcd-2"));
    const claim = await world.json<{ spec: { volumeName: string } }>("get", "pvc", "my-etcd-2");
    await emptyVolume(instance, pod.spec.nodeName, claim.spec.volumeName);
    await killEtcd(pod.metadata.uid);
  },
  async settled(world) {
    const claim = await world.json<{ metadata: { labels: Record<string, string> } }>("get", "pvc", "my-etcd-2");
    if (claim.metadata.labels["etcd.improbable.io/quarantined"] !== "true")
      throw new Error("the claim is not put aside");
    await world.mustBeReady();
  },
  holds: mustHaveItsData,
};

testSweeps([
  { scenario: replacement, mustWrite: ["MemberRemove", "MemberAdd", "MemberPromote"] },
  { scenario: quarantine, mustWrite: ["MemberRemove", "PATCH persistentvolumeclaims/my-etcd-2", "MemberPromote"] },
]);
