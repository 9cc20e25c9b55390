import { afterAll, beforeAll, expect, test } from "vitest";
import { hexOf } from "#etcd/types.ts";
import { eventually, instance } from "#kit/e2e.ts";
import { emptyVolume, killEtcd } from "#kit/load-accidents.ts";
import type { MemberPod } from "#kit/loaded-cluster.ts";
import { withoutDeployedOperator } from "#kit/operator-process.ts";
import { type Scenario, sweep } from "#kit/operator-sweep.ts";
import type { World } from "#kit/operator-world.ts";

// The operator dies after every single write, and is started again: the end is the same as without its death.

let deployed: AsyncDisposable;

beforeAll(async () => {
  deployed = await withoutDeployedOperator();
});

afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
});

const bootstrap: Scenario = {
  name: "bootstrap",
  act: (world) => world.create({ replicas: 3 }),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsOwnIdentity,
};

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
    await world.lead("my-etcd-2"); // the first to go: leadership has to be handed over
  },
  act: (world) => scale(world, 1),
  settled: (world) => world.mustBeReady(),
  holds: mustHaveItsData,
};

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

/** The cluster ID of a cluster that was deleted. */
const before = new WeakMap<World, string | undefined>();

async function readyWith(world: World, replicas: number): Promise<void> {
  await world.create({ replicas });
  await eventually(() => world.mustBeReady());
  await world.write("key", "written before");
}

async function scale(world: World, replicas: number): Promise<void> {
  await world.kubectl("scale", "etcdcluster", world.name, `--replicas=${replicas}`);
}

async function remove(world: World): Promise<void> {
  await world.kubectl("delete", "etcdcluster", world.name, "--wait=false");
}

/** Its claims stay. */
async function mustBeGone(world: World): Promise<void> {
  const left = (await world.objects()).filter(({ kind }) => kind !== "PersistentVolumeClaim");
  if (left.length > 0)
    throw new Error(`there are still ${left.map(({ kind, metadata }) => `${kind} ${metadata.name}`)}`);
}

async function mustHaveItsData(world: World): Promise<void> {
  expect(await world.readBack("key")).toBe("written before");
}

async function mustHaveItsOwnIdentity(world: World): Promise<void> {
  const cluster = await world.cluster();
  const { uid = "" } = cluster?.metadata ?? {};
  const expected = world.expectedClusterId(uid, ["my-etcd-0", "my-etcd-1", "my-etcd-2"]);
  expect(cluster?.status?.identity?.clusterID).toBe(expected);
}

const swept: readonly { scenario: Scenario; mustWrite: readonly string[] }[] = [
  { scenario: bootstrap, mustWrite: ["POST persistentvolumeclaims/my-etcd-2", "PUT etcdpeers/my-etcd-2"] },
  { scenario: scaleUp, mustWrite: ["MemberAdd", "MemberPromote", "POST persistentvolumeclaims/my-etcd-2"] },
  { scenario: scaleDown, mustWrite: ["MoveLeader", "MemberRemove", "DELETE persistentvolumeclaims/my-etcd-1"] },
  { scenario: replacement, mustWrite: ["MemberRemove", "MemberAdd", "MemberPromote"] },
  { scenario: quarantine, mustWrite: ["MemberRemove", "PATCH persistentvolumeclaims/my-etcd-2", "MemberPromote"] },
  { scenario: deletion, mustWrite: [] }, // none at all: the garbage collector does it, and needs no operator
  { scenario: comeback, mustWrite: ["PUT etcdclusters/my-etcd/status", "POST replicasets/my-etcd-2"] },
];

for (const { scenario, mustWrite } of swept) {
  test(`crash sweep of ${scenario.name}: an operator that dies after any of its writes comes to the same end`, async () => {
    const { writes, runs, seconds } = await sweep(scenario);
    const deaths = runs.filter(({ died }) => died).length;
    console.log(`${scenario.name}: ${writes.length} writes, ${deaths} deaths in ${runs.length} runs, ${seconds} s`);
    expect(runs.filter(({ fault }) => fault !== undefined)).toEqual([]);
    expect(writes).toEqual(expect.arrayContaining([...mustWrite]));
    // A run may need fewer writes of status, and need not move the leadership a second time.
    const missed = runs.filter(({ died, point }) => !died && !/\/status |^MoveLeader #2/.test(point));
    expect(missed).toEqual([]);
  }, 1_200_000);
}
