import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1alpha1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1alpha1/peer.ts";
import { World } from "#kit/world.ts";
import { CLUSTER, NAMESPACE } from "#kit/world-people.ts";
import { seeded, settle } from "./ambient.ts";
import { calmDown } from "./calm.ts";
import { kubernetesStep } from "./happenings.ts";

// Histories that chance would need long for, told on purpose.

const REF = { namespace: NAMESPACE, name: CLUSTER };

async function newWorld(replicas: number): Promise<World> {
  const world = new World({
    seed: 1,
    replicas,
    hasLocalVolumes: false,
    hasStrictEtcd: true,
    bindsLate: false,
    versions: [],
    mutation: {},
    happened: () => undefined,
    trace: undefined,
  });
  world.startOperator();
  await settle();
  world.people.do("createCluster");
  return world;
}

async function untilQuiet(world: World): Promise<void> {
  await calmDown(world, () => {
    world.step += 1;
    world.calls.breathe();
  });
}

/** A tenth of a second in which everything happens, except that nothing is heard on one watch. */
async function tenth(world: World, silent: string | undefined): Promise<void> {
  for (const stream of world.watches.streams) if (stream.resource.plural !== silent) stream.deliver(stream.behind);
  while (kubernetesStep(world)) world.step += 1;
  for (const process of world.etcd.processes.values()) if (process.leaderId === undefined) world.etcd.elect(process);
  await settle();
  world.calls.breathe();
  world.time.runNext(world.time.nowMs + 100);
  await settle();
}

/**
 * The member is on record as joined, and from then on nothing comes on the watch of EtcdClusters. A person deletes the EtcdPeer;
 * half a minute passes, less than it takes to find out that the watch is dead.
 * @returns the EtcdPeer that the operator made in its place
 */
export function deletedPeerOnADeadWatch(): Promise<EtcdPeer | undefined> {
  return seeded(1, async () => {
    const world = await newWorld(1);
    const hasJoined = () => world.api.find(ETCD_CLUSTERS, REF)?.status?.identity?.initialMembers[0]?.joined === true;
    for (let tenths = 0; tenths < 100 && !hasJoined(); tenths++) await tenth(world, undefined);
    world.api.delete("person", ETCD_PEERS, { ...REF, name: `${CLUSTER}-0` });
    for (let tenths = 0; tenths < 300; tenths++) await tenth(world, ETCD_CLUSTERS.plural);
    return world.api.list(ETCD_PEERS)[0];
  });
}

/**
 * A cluster whose members could never start, for want of volumes, is deleted and made again; then there are volumes.
 * @returns the cluster when everything is quiet
 */
export function madeAgainBeforeItEverRan(): Promise<EtcdCluster | undefined> {
  return seeded(1, async () => {
    const world = await newWorld(3);
    world.kubelets.isOutOfVolumes = true;
    await untilQuiet(world);
    world.api.delete("person", ETCD_CLUSTERS, REF);
    await untilQuiet(world);
    world.people.do("createCluster");
    await untilQuiet(world);
    world.kubelets.isOutOfVolumes = false;
    await untilQuiet(world);
    return world.api.find(ETCD_CLUSTERS, REF);
  });
}
