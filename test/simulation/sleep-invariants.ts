import { CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import { MEMBER_TIMEOUT_MS } from "#kit/world/operator.ts";
import type { World } from "#kit/world/world.ts";
import { controllerOf, PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, type ReplicaSet } from "#kube/kinds.ts";
import type { Invariant } from "./memory.ts";

/**
 * Longest pass of the operator, in milliseconds: a member is stopped within one pass, and its reads may be as old as
 * the pass.
 */
const PASS_MS = 20_000;

export const stopIsRequested: Invariant = {
  name: "stop is requested",
  promise: "A member is stopped, or a cluster put to sleep, only while a person asks for spec.replicas 0.",
  breaks(event, world, memory) {
    if (event.is === "acts" && event.step.do === "fallAsleep" && "cluster" in event.snapshot)
      return event.snapshot.cluster.spec.replicas === 0
        ? undefined
        : "the cluster is put to sleep, and spec.replicas is not 0";
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== REPLICA_SETS) return undefined;
    const [before, after] = [event.before as ReplicaSet | undefined, event.after as ReplicaSet | undefined];
    if (after === undefined || after.spec?.replicas !== 0 || before?.spec?.replicas === 0) return undefined;
    const peer = world.api.byUid(ETCD_PEERS, controllerOf(after)?.uid);
    if (peer === undefined) return undefined; // It is deleted with its EtcdPeer, which no longer exists.
    const agoMs = memory.sleep.askedMsAgo(controllerOf(peer)?.uid ?? "", world.time.nowMs);
    return agoMs <= PASS_MS ? undefined : `${after.metadata.name} is stopped, and spec.replicas was not 0`;
  },
};

/** Steps that change the membership, or a member's data. */
const ABOUT_MEMBERS: readonly string[] = ["addLearner", "promote", "removeMember", "markRemoval", "releaseClaim"];

export const sleepKeepsMembers: Invariant = {
  name: "sleep keeps members",
  promise: "No member is added, removed or replaced while spec.replicas is 0.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot)) return undefined;
    if (event.snapshot.cluster.spec.replicas !== 0) return undefined;
    return ABOUT_MEMBERS.includes(event.step.do) ? `${event.step.do} while spec.replicas is 0` : undefined;
  },
};

export const wakeUpIsAwaited: Invariant = {
  name: "wake-up is awaited",
  promise: "After sleep every member gets the time of a restarted one to wake up before any member is given up.",
  breaks(event, world, memory) {
    if (event.is !== "acts" || event.step.do !== "markRemoval" || !("cluster" in event.snapshot)) return undefined;
    const { removal, peer } = event.step;
    const { uid } = event.snapshot.cluster.metadata;
    const wokenMs = memory.sleep.wokenMs(uid);
    // A changed clock may have used up the time.
    const isOver = world.time.nowMs - wokenMs >= MEMBER_TIMEOUT_MS || world.time.skewMs !== 0;
    if (removal === undefined || isOver) return undefined;
    const voters = world.etcd.truth.named(peer.spec.clusterID)?.members ?? new Map();
    for (const { id, isLearner, name } of voters.values()) {
      const hasBeenWell = (memory.wellMs.get(`${peer.spec.clusterID}/${hexOf(id)}`)?.until ?? 0) >= wokenMs;
      if (isLearner || hasBeenWell || !hasItsData(world, peer, id)) continue;
      return `${peer.metadata.name} is given up (${removal}), and ${name} is still waking up`;
    }
    return undefined;
  },
};

/** Whether the member's claim exists and holds its data. */
function hasItsData(world: World, { spec }: EtcdPeer, id: MemberId): boolean {
  const claim = world.api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .find(({ metadata }) => metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] === hexOf(id));
  const cluster = world.etcd.truth.named(spec.clusterID);
  const isWhole = cluster?.alarms.has(id) !== true && cluster?.foreign.has(id) !== true;
  return isWhole && world.kubelets.disks.get(claim?.spec?.volumeName ?? "")?.data?.memberId === id;
}
