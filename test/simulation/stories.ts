import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import type { World, WorldOptions } from "#kit/world/world.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { seeded, settle } from "./ambient.ts";
import { kubernetesStep } from "./happenings.ts";
import { Scene } from "./stories/scene.ts";

// Scripted histories that random ones would rarely reach.

const REF = { namespace: NAMESPACE, name: CLUSTER };

async function started(replicas: number, more: Partial<WorldOptions> = {}): Promise<Scene> {
  const made = new Scene(replicas, more);
  await made.start();
  return made;
}

/** Lets everything happen for a tenth of a second, except that one watch delivers nothing. */
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
 * A member is recorded as joined, and then the watch of EtcdClusters is dead. A person deletes the EtcdPeer. Half a
 * minute passes, which is too short to detect the dead watch.
 * @returns the EtcdPeer that the operator creates in its place
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
 * A cluster without volumes, so that no member ever started, is deleted and created again; then there are volumes.
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
 * A person deletes a claim, which remains while its pod runs, while the watch of claims is dead. Then one of two
 * members is to be removed. The operator sees the deletion after eight seconds.
 * @returns names of the remaining members
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
 * A person takes an edit back and pauses the cluster when the operator has begun to carry it out. The watch of
 * EtcdClusters is dead for 25 s.
 * @param begun the first step of the operator after which the person acts
 * @returns objects that the operator deleted after the pause
 */
export function pausedOnADeadWatch(edit: Partial<EtcdCluster["spec"]>, begun: string): Promise<readonly string[]> {
  return seeded(1, async () => {
    const scene = await started(3);
    await scene.untilQuiet();
    const { spec } = scene.cluster;
    scene.edit(edit);
    const hasBegun = () => scene.did().some((each) => each.startsWith(begun));
    for (let tenths = 0; tenths < 1_000 && !hasBegun(); tenths++) await tenth(scene.world, undefined);
    if (!hasBegun()) throw new Error(`the operator never did ${begun}`);
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
 * A person deletes the cluster with its claims and creates it again. The watch of claims is dead from then until 25 s
 * after the creation.
 * @param keepsData whether the claims remain
 * @returns the cluster when everything is quiet, and the ID of the first one
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
