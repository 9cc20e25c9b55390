import { CLUSTER_LABEL, REMOVAL_ANNOTATION } from "#api/names.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf } from "#etcd/types.ts";
import { canStartEmpty, flagsOf } from "#kit/world/flags.ts";
import { votersIn } from "#kit/world/truth.ts";
import type { WorldEvent } from "#kit/world/world.ts";
import { POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS } from "#kube/kinds.ts";
import type { Invariant } from "./memory.ts";

// Decisions are judged by their own observation: a member counts as healthy when it ran at any moment since the
// observation began. Events between the observation and the step are excused, because the operator cannot know them.

/** A step that the operator is about to make for a cluster. */
interface Act {
  readonly step: ClusterStep;
  readonly snapshot: ClusterSnapshot;
  readonly lookedFrom: number;
  readonly clusterID: string | undefined;
}

function actIn(event: WorldEvent): Act | undefined {
  if (event.is !== "acts" || !("cluster" in event.snapshot)) return undefined;
  const { snapshot, lookedFrom } = event;
  // The controller of the cluster makes only steps of the cluster.
  return { snapshot, lookedFrom, step: event.step as ClusterStep, clusterID: identityOf(snapshot)?.clusterID };
}

/** Steps that may be made only with a member list that a quorum has just confirmed. */
const NEEDS_CONFIRMED_LIST: readonly string[] = [
  "addLearner",
  "promote",
  "removeMember",
  "moveLeader",
  "disarmAlarm",
  "updateMember",
  "enableDowngrade",
  "cancelDowngrade",
  "markRemoval",
  "releaseClaim",
  "deletePeer",
];

export const confirmedListFirst: Invariant = {
  name: "confirmed list first",
  promise: "Members and their data change only with a member list that a quorum has confirmed.",
  breaks(event, _world, memory) {
    const act = actIn(event);
    if (act === undefined || !NEEDS_CONFIRMED_LIST.includes(act.step.do)) return undefined;
    const lastListed = memory.lastListed.get(act.clusterID ?? "") ?? -1;
    if (lastListed >= act.lookedFrom - 1) return undefined;
    return `${act.step.do}, and the last confirmed list is of step ${lastListed}`;
  },
};

export const quorumKept: Invariant = {
  name: "quorum kept",
  promise:
    "No step leaves fewer healthy voters than a quorum. No step takes the last spare voter, unless fewer than three members are requested.",
  breaks(event, world, memory) {
    const act = actIn(event);
    if (act === undefined || (act.step.do !== "removeMember" && act.step.do !== "promote")) return undefined;
    const { members } = world.etcd.truth.named(act.clusterID) ?? { members: new Map() };
    const { id } = act.step;
    const before = votersIn({ members });
    const after = new Set(act.step.do === "promote" ? [...before, id] : before.filter((voter) => voter !== id));
    const since = act.lookedFrom - 1;
    const isWell = (voter: typeof id) => (memory.lastWell.get(`${act.clusterID}/${hexOf(voter)}`) ?? -1) >= since;
    // A voter that takes part counts even before it serves clients (docs/adr/0009): a new one may not serve them yet.
    const participatesInQuorum = (voter: typeof id) =>
      voter === id &&
      act.step.do === "promote" &&
      (memory.tookPartMs.get(`${act.clusterID}/${hexOf(voter)}`)?.step ?? -1) >= since;
    const healthy = [...after].filter((voter) => isWell(voter) || participatesInQuorum(voter)).length;
    const counted = `${act.step.do} of ${act.step.name} leaves ${healthy} of ${after.size} voters healthy`;
    if (before.length === after.size) return undefined; // It is a learner, or was removed already.
    if (after.size === 0 || healthy < quorumOf(after.size)) return counted;
    // A member that the observation found unhealthy may recover a moment later: then the step took no spare voter when
    // it was decided. The restart of its pod, with the address to ask, reaches the operator's cache one step later at
    // the earliest.
    const fromStep = memory.wellMs.get(`${act.clusterID}/${hexOf(id)}`)?.fromStep ?? 0;
    const wasWell = isWell(id) && fromStep < act.lookedFrom - 1;
    const takesSpare = act.step.do === "removeMember" && wasWell && healthy === quorumOf(after.size);
    return takesSpare && act.snapshot.cluster.spec.replicas >= 3 ? `${counted}: no spare voter is left` : undefined;
  },
};

export const restartsKeepQuorum: Invariant = {
  name: "restarts keep quorum",
  promise: "No member with a running process is restarted while another member is unhealthy.",
  breaks(event, world, memory) {
    const act = actIn(event);
    const process = act?.step.do === "restartPod" ? world.etcd.processes.get(act.step.pod.metadata.uid) : undefined;
    if (act?.step.do !== "restartPod" || process === undefined) return undefined;
    const { name, pod } = act.step;
    // The API server refuses to delete a pod that has changed since it was read.
    const live = world.api.find(PODS, pod.metadata);
    if (live?.metadata.resourceVersion !== pod.metadata.resourceVersion) return undefined;
    // A cluster that was recreated from a single claim waits for members that no record has: its only member may be
    // restarted.
    const isAlone = act.snapshot.cluster.status?.identity?.initialMembers.length === 1;
    if (isAlone && world.etcd.leaderOf(process) === undefined) return undefined;
    const { members, foreign } = world.etcd.truth.named(act.clusterID) ?? { members: new Map(), foreign: new Set() };
    const since = act.lookedFrom - 1;
    const others = [...members.values()].filter(
      (member) => !member.isLearner && member.name !== name && !foreign.has(member.id),
    );
    const down = others.find(({ id }) => (memory.lastWell.get(`${act.clusterID}/${hexOf(id)}`) ?? -1) < since);
    return down === undefined ? undefined : `${name} is restarted, and ${down.name} is not healthy`;
  },
};

export const oneAtATime: Invariant = {
  name: "one at a time",
  promise: "At most one member is unstarted or a learner at any moment.",
  breaks(event, world) {
    if (event.is !== "step") return undefined;
    const seen = new Set<string>();
    for (const { data } of world.etcd.processes.values()) {
      const id = hexOf(data.clusterId);
      if (seen.has(id)) continue;
      seen.add(id);
      const { members, foreign } = world.etcd.truth.of(data.clusterId);
      const ours = [...members.values()].filter((member) => !foreign.has(member.id));
      const arriving = ours.filter(({ isLearner, name }) => isLearner || name === "");
      if (arriving.length > 1) return `${arriving.map(({ peerUrl }) => peerUrl).join(" and ")} are arriving`;
    }
    return undefined;
  },
};

/**
 * How long a member must have been healthy, and how recently, not to count as lost, even if the operator rarely
 * observed it.
 */
const WELL_MS = 10_000;
const RECENT_MS = 5_000;

export const patience: Invariant = {
  name: "patience",
  promise: "A voter is given up only when it has been lost for the stated time.",
  breaks(event, world, memory) {
    const act = actIn(event);
    if (act?.step.do !== "markRemoval" || act.step.removal !== "replacement") return undefined;
    const { metadata, spec } = act.step.peer;
    const members = world.etcd.truth.named(spec.clusterID)?.members ?? new Map();
    const isVoter = [...members].some(([id, { isLearner }]) => hexOf(id) === spec.memberID && !isLearner);
    if (!isVoter) return undefined; // A healthy learner may still be too slow.
    const well = memory.wellMs.get(`${spec.clusterID}/${spec.memberID}`);
    if (well === undefined || world.time.nowMs - well.until >= RECENT_MS || well.until - well.from < WELL_MS)
      return undefined;
    return `${metadata.name} was well for ${well.until - well.from} ms, until ${world.time.nowMs - well.until} ms ago`;
  },
};

export const healthyMembersStay: Invariant = {
  name: "healthy members stay",
  promise:
    "A member that takes part in the quorum is removed only if a person asked for fewer, whether or not the operator can see it.",
  breaks(event, world, memory) {
    const act = actIn(event);
    if (act?.step.do !== "removeMember") return undefined;
    const id = hexOf(act.step.id);
    const peer = world.api.list(ETCD_PEERS).find(({ spec }) => spec.memberID === id);
    const member = world.etcd.truth.named(act.clusterID)?.members.get(act.step.id);
    // A person may have deleted the EtcdPeer with its annotation since the observation.
    const marked = peer ?? act.snapshot.peers.find(({ spec }) => spec.memberID === id);
    if (marked?.metadata.annotations?.[REMOVAL_ANNOTATION] === "scale-down" || member?.isLearner !== false)
      return undefined;
    const part = memory.tookPartMs.get(`${act.clusterID}/${id}`);
    if (part === undefined || part.step < act.lookedFrom - 1 || part.until - part.from < WELL_MS) return undefined;
    return `${act.step.name} has taken part for ${part.until - part.from} ms`;
  },
};

export const evictionsKeepQuorum: Invariant = {
  name: "evictions keep the quorum",
  promise:
    "While only evictions remove pods, and each honours the budget, the quorum is never lost. Of one or two requested members at most one is evicted.",
  breaks(event, world, memory) {
    if (event.is !== "evicted" || !memory.hasOnlyEvictions) return undefined;
    const clusterId = world.etcd.processes.get(event.pod.metadata.uid)?.data.clusterId;
    if (clusterId === undefined) return undefined;
    const voters = votersIn(world.etcd.truth.of(clusterId));
    const staying = new Set(
      world.api.list(PODS).flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.uid] : [])),
    );
    const left = [...world.etcd.processes.values()].filter(
      ({ podUid, data }) => data.clusterId === clusterId && voters.includes(data.memberId) && staying.has(podUid),
    ).length;
    const quorum = quorumOf(voters.length);
    const { namespace, labels } = event.pod.metadata;
    const budget = world.api.find(POD_DISRUPTION_BUDGETS, { namespace, name: labels?.[CLUSTER_LABEL] ?? "" });
    const isSmall = voters.length <= 2 && budget?.spec?.minAvailable === quorum - 1;
    const needed = isSmall ? quorum - 1 : quorum;
    return left < needed
      ? `${event.pod.metadata.name} is evicted: ${left} of ${voters.length} voters keep running`
      : undefined;
  },
};

export const voteAfterFence: Invariant = {
  name: "vote after fence",
  promise: "A member that can start on an empty disk is not promoted.",
  breaks(event, world) {
    const act = actIn(event);
    if (act?.step.do !== "promote") return undefined;
    const { name, id } = act.step;
    const peer = world.api.list(ETCD_PEERS).find(({ spec }) => spec.memberID === hexOf(id));
    if (peer?.spec.bootstrap !== undefined) return `${name} is promoted before it is fenced`;
    // The container may start again at any moment with the flags of its pod.
    const pod = world.api
      .list(PODS)
      .find(({ metadata }) => world.etcd.processes.get(metadata.uid)?.data.memberId === id);
    return pod === undefined || !canStartEmpty(flagsOf(pod))
      ? undefined
      : `${name} is promoted before its pod ${pod.metadata.name} is fenced`;
  },
};

export const alarmStays: Invariant = {
  name: "alarm stays",
  promise: "An alarm is disarmed only when its member has been removed.",
  breaks(event, world) {
    const act = actIn(event);
    if (act?.step.do !== "disarmAlarm") return undefined;
    const isMember = world.etcd.truth.named(act.clusterID)?.members.has(act.step.id) ?? false;
    return isMember ? `the alarm of ${hexOf(act.step.id)} is disarmed, and the member is still listed` : undefined;
  },
};

export const memberIsGone: Invariant = {
  name: "member is gone",
  promise: "The EtcdPeer and the ReplicaSet of a member are deleted only when etcd no longer lists the member.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.verb !== "delete") return undefined;
    if (event.resource === REPLICA_SETS) return "a ReplicaSet is deleted by the operator";
    if (event.resource !== ETCD_PEERS) return undefined;
    const { metadata, spec } = event.before as EtcdPeer;
    const { members } = world.etcd.truth.named(spec.clusterID) ?? { members: new Map() };
    const isListed = [...members.keys()].some((id) => hexOf(id) === spec.memberID);
    return isListed ? `EtcdPeer ${metadata.name} is deleted, and etcd lists its member` : undefined;
  },
};
