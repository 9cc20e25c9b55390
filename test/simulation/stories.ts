import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import type { World, WorldOptions } from "#kit/world.ts";
import { CLUSTER, NAMESPACE } from "#kit/world-people.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { seeded, settle } from "./ambient.ts";
import { kubernetesStep } from "./happenings.ts";
import { Scene } from "./stories/scene.ts";

// Histories that chance would need long for, told on purpose.

const REF = { namespace: NAMESPACE, name: CLUSTER };

async function started(replicas: number, more: Partial<WorldOptions> = {}): Promise<Scene> {
  const made = new Scene(replicas, more);
  await made.start();
  return made;
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
    const { world } = await started(1);
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
    const scene = await started(3);
    const { world } = scene;
    world.kubelets.isOutOfVolumes = true;
    await scene.untilQuiet();
    world.api.delete("person", ETCD_CLUSTERS, REF);
    await scene.untilQuiet();
    world.people.do("createCluster");
    await scene.untilQuiet();
    world.kubelets.isOutOfVolumes = false;
    await scene.untilQuiet();
    return world.api.find(ETCD_CLUSTERS, REF);
  });
}

/**
 * A person deletes a claim, which stays as long as its pod runs, and nothing comes on the watch of claims; then one member of two is to go. It is seen
 * after eight seconds.
 * @returns names of the members that are left
 */
export function scaledDownOnADeadWatch(): Promise<readonly string[]> {
  return seeded(1, async () => {
    const scene = await started(2);
    await scene.untilQuiet();
    const { api } = scene.world;
    api.delete("person", PERSISTENT_VOLUME_CLAIMS, { ...REF, name: `${CLUSTER}-0` });
    scene.edit({ replicas: 1 });
    for (let tenths = 0; tenths < 80; tenths++) await tenth(scene.world, PERSISTENT_VOLUME_CLAIMS.plural);
    await scene.untilQuiet();
    return api.list(ETCD_PEERS).map(({ metadata }) => metadata.name);
  });
}

/**
 * The operator has begun something for an edit when a person takes the edit back and pauses the cluster; of EtcdClusters nothing is heard for 25 s.
 * @param begun the first step after which that is
 * @returns what the operator deleted after the pause
 */
export function pausedOnADeadWatch(edit: Partial<EtcdCluster["spec"]>, begun: string): Promise<readonly string[]> {
  return seeded(1, async () => {
    const scene = await started(3);
    await scene.untilQuiet();
    const { spec } = scene.cluster;
    scene.edit(edit);
    const hasBegun = () => scene.did().some((each) => each.startsWith(begun));
    for (let tenths = 0; tenths < 1_000 && !hasBegun(); tenths++) await tenth(scene.world, undefined);
    if (!hasBegun()) throw new Error(`nobody did ${begun}`);
    scene.edit({ ...spec, paused: true });
    scene.events.length = 0;
    for (let tenths = 0; tenths < 250; tenths++) await tenth(scene.world, ETCD_CLUSTERS.plural);
    return scene.events.flatMap((event) => {
      if (event.is !== "write" || event.actor !== "operator" || event.verb !== "delete") return [];
      return [`${event.resource.kind} ${event.before?.metadata.name}`];
    });
  });
}

/**
 * A person deletes the cluster with its claims and makes it again, and nothing comes on the watch of claims meanwhile, and for 25 s after it.
 * @param keepsData whether the claims stay @returns the cluster when everything is quiet, and the ID of the first one
 */
export function madeAgainOnADeadWatch(
  keepsData: boolean,
  more: Partial<WorldOptions> = {},
): Promise<readonly [EtcdCluster | undefined, string]> {
  return seeded(1, async () => {
    const scene = await started(3, more);
    const { api, watches, people } = scene.world;
    await scene.untilQuiet();
    const { clusterID = "" } = scene.cluster.status?.identity ?? {};
    const silent = PERSISTENT_VOLUME_CLAIMS.plural;
    api.delete("person", ETCD_CLUSTERS, REF);
    for (const { metadata } of keepsData ? [] : api.list(PERSISTENT_VOLUME_CLAIMS))
      api.delete("person", PERSISTENT_VOLUME_CLAIMS, { ...REF, name: metadata.name });
    const hasGone = () => keepsData || api.list(PERSISTENT_VOLUME_CLAIMS).length === 0;
    for (let tenths = 0; tenths < 100 || !hasGone(); tenths++) await tenth(scene.world, silent);
    people.do("createCluster");
    for (let tenths = 0; tenths < 250; tenths++) await tenth(scene.world, silent);
    for (const stream of watches.streams) stream.deliver(stream.behind);
    await scene.untilQuiet();
    return [api.find(ETCD_CLUSTERS, REF), clusterID];
  });
}
