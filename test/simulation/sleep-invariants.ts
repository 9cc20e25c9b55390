import { CLAIM_MEMBER_ID_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { World } from "#kit/world.ts";
import { MEMBER_TIMEOUT_MS } from "#kit/world-operator.ts";
import { controllerOf, PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, type ReplicaSet } from "#kube/kinds.ts";
import type { Invariant } from "./memory.ts";

/** A member is stopped within one pass, whose reads may be as old as it is long. */
const PASS_MS = 20_000;

export const stopIsAsked: Invariant = {
  name: "a stop is asked for",
  promise: "No member is stopped, and no cluster put to sleep, but by people who want nobody to run.",
  breaks(event, world, memory) {
    if (event.is === "acts" && event.step.do === "fallAsleep" && "cluster" in event.snapshot)
      return event.snapshot.cluster.spec.replicas === 0 ? undefined : "it is put to sleep, and members are wanted";
    if (event.is !== "write" || event.actor !== "operator" || event.resource !== REPLICA_SETS) return undefined;
    const [before, after] = [event.before as ReplicaSet | undefined, event.after as ReplicaSet | undefined];
    if (after === undefined || after.spec?.replicas !== 0 || before?.spec?.replicas === 0) return undefined;
    const peer = world.api.byUid(ETCD_PEERS, controllerOf(after)?.uid);
    if (peer === undefined) return undefined; // It goes with its EtcdPeer, which is gone.
    const agoMs = memory.sleep.askedMsAgo(controllerOf(peer)?.uid ?? "", world.time.nowMs);
    return agoMs <= PASS_MS ? undefined : `${after.metadata.name} is stopped, and was not asked to`;
  },
};

/** What changes who is a member, or what becomes of a member's data. */
const ABOUT_MEMBERS: readonly string[] = ["addLearner", "promote", "removeMember", "markRemoval", "releaseClaim"];

export const sleepersStay: Invariant = {
  name: "sleepers stay",
  promise: "Whoever sleeps is left as it is: no member is added, removed or replaced while nobody is wanted.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot)) return undefined;
    if (event.snapshot.cluster.spec.replicas !== 0) return undefined;
    return ABOUT_MEMBERS.includes(event.step.do) ? `${event.step.do} while nobody is wanted` : undefined;
  },
};

export const wakingIsAwaited: Invariant = {
  name: "the waking are waited for",
  promise: "A member that slept is given the time of a restarted one to wake up, before anybody goes.",
  breaks(event, world, memory) {
    if (event.is !== "acts" || event.step.do !== "markRemoval" || !("cluster" in event.snapshot)) return undefined;
    const { removal, peer } = event.step;
    const { uid } = event.snapshot.cluster.metadata;
    const wokenMs = memory.sleep.wokenMs(uid);
    // A clock that was set may have used up the time.
    const isOver = world.time.nowMs - wokenMs >= MEMBER_TIMEOUT_MS || world.time.skewMs !== 0;
    if (removal === undefined || isOver) return undefined;
    const voters = world.etcd.truth.named(peer.spec.clusterID)?.members ?? new Map();
    for (const { id, isLearner, name } of voters.values()) {
      const hasBeenWell = (memory.wellMs.get(`${peer.spec.clusterID}/${hexOf(id)}`)?.until ?? 0) >= wokenMs;
      if (isLearner || hasBeenWell || !hasItsData(world, peer, id)) continue;
      return `${peer.metadata.name} is to go (${removal}), and ${name} is still waking`;
    }
    return undefined;
  },
};

/** Whether the member has its claim, and its data on it. */
function hasItsData(world: World, { spec }: EtcdPeer, id: MemberId): boolean {
  const claim = world.api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .find(({ metadata }) => metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] === hexOf(id));
  const cluster = world.etcd.truth.named(spec.clusterID);
  const isWhole = cluster?.alarms.has(id) !== true && cluster?.foreign.has(id) !== true;
  return isWhole && world.kubelets.disks.get(claim?.spec?.volumeName ?? "")?.data?.memberId === id;
}
