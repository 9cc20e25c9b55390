import { instance } from "#kit/e2e/e2e.ts";
import { emptyVolume, killEtcd } from "#kit/e2e/load-accidents.ts";
import type { MemberPod } from "#kit/e2e/loaded-cluster.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";

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
      throw new Error("the claim is not quarantined");
    await world.mustBeReady();
  },
  holds: mustHaveItsData,
};

testSweeps([
  { scenario: quarantine, mustWrite: ["MemberRemove", "PATCH persistentvolumeclaims/my-etcd-2", "MemberPromote"] },
]);
