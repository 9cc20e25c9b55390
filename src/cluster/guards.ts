import { CLEANUP_FINALIZER, REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdPeer } from "#api/v1alpha1/peer.ts";
import {
  arriving,
  intendedPeers,
  isFenced,
  knownMembers,
  sickForMs,
  spareVoters,
  takesPart,
  votersOf,
} from "#cluster/members.ts";
import { type ClusterSnapshot, healthOf, identityOf, isOwned, urlOf } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hexOf } from "#etcd/types.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

/** Nothing of a cluster is made before its identity is on record, and the identity is never written a second time. */
export const identityFirst: ClusterGuard = {
  name: "identity-first",
  forbids(snapshot, step) {
    const recorded = identityOf(snapshot);
    if (step.do === "recordIdentity") {
      return recorded === undefined ? undefined : `the cluster is ${recorded.clusterID} already`;
    }
    return recorded === undefined ? "the cluster's identity is not on record" : undefined;
  },
};

/** A cluster is bootstrapped once in its life: only by members of the frozen list, each only until it has joined. */
export const bootstrapOnce: ClusterGuard = {
  name: "bootstrap-once",
  forbids(snapshot, step) {
    const peer = peerIn(step);
    if (peer?.spec?.bootstrap?.initialClusterState !== "New") return undefined;
    const { name } = peer.metadata;
    const initial = identityOf(snapshot)?.initialMembers.find((member) => member.name === name);
    if (initial === undefined) return `${name} is not in the frozen list of first members`;
    if (initial.joined) return `${name} has joined; on an empty volume it would forget what it acknowledged`;
    return undefined;
  },
};

/** A member counts as joined only when it has just answered as the member and the cluster that are on record. */
export const joinedIsSeen: ClusterGuard = {
  name: "joined-is-seen",
  forbids(snapshot, step) {
    if (step.do !== "recordJoined") return undefined;
    const unseen = step.names.find((name) => {
      const member = identityOf(snapshot)?.initialMembers.find((initial) => initial.name === name);
      return member === undefined || healthOf(snapshot, name, member.id).is !== "healthy";
    });
    return unseen === undefined ? undefined : `${unseen} has not answered as part of this cluster`;
  },
};

/** Steps that change who is a member, or what becomes of a member's data. */
const ABOUT_MEMBERSHIP: readonly ClusterStep["do"][] = [
  "addLearner",
  "disarmAlarm",
  "promote",
  "moveLeader",
  "removeMember",
  "markRemoval",
  "releaseClaim",
  "deletePeer",
];

/** Without a linearizable member list, no member and no data is changed. */
export const needMemberList: ClusterGuard = {
  name: "need-member-list",
  forbids(snapshot, step) {
    if (!ABOUT_MEMBERSHIP.includes(step.do) || snapshot.members.is === "present") return undefined;
    return "the member list could not be read linearizably";
  },
};

/** Whoever has not answered for less than this, in milliseconds, may be well: a pod that just started is not dialled yet. */
const DOUBT_MS = 5_000;

/**
 * No change of membership leaves fewer healthy voters than a quorum. Nor does it take the last spare one away, unless fewer
 * than three members are wanted; to remove a voter that has been sick for a while takes nothing away.
 */
export const keepQuorum: ClusterGuard = {
  name: "keep-quorum",
  forbids(snapshot, step) {
    if (step.do !== "removeMember" && step.do !== "promote") return undefined;
    const target = knownMembers(snapshot).find(({ id }) => id === hexOf(step.id));
    if (target === undefined) return `${step.name} is not in the member list`;
    if (step.do === "removeMember" && target.isLearner) return undefined; // it has no vote
    const voters = votersOf(snapshot).length;
    const healthy = votersOf(snapshot).filter((member) => takesPart(snapshot, member)).length;
    const change = step.do === "promote" ? 1 : -1;
    const after = { voters: voters + change, healthy: healthy + (takesPart(snapshot, target) ? change : 0) };
    const spare = spareVoters(after.voters, after.healthy);
    const counted = `${after.healthy} of ${after.voters} voters would be healthy`;
    if (after.voters < 1 || spare < 0) return `${counted}: less than a quorum`;
    const mayBeWell = takesPart(snapshot, target) || sickForMs(snapshot, target) < DOUBT_MS;
    const takesSpare = step.do === "promote" ? spare < spareVoters(voters, healthy) : mayBeWell;
    return spare === 0 && takesSpare && snapshot.cluster.spec.replicas >= 3 ? `${counted}: none to spare` : undefined;
  },
};

/** One member at a time is arriving, or leaving, or being replaced. */
export const oneAtATime: ClusterGuard = {
  name: "one-at-a-time",
  forbids(snapshot, step) {
    switch (step.do) {
      case "addLearner":
        return busy(snapshot, { except: step.name });
      case "createPeer": {
        const isNew =
          step.peer.spec?.bootstrap?.initialClusterState === "Existing" && step.peer.spec.memberID === undefined;
        return isNew ? busy(snapshot, {}) : undefined;
      }
      case "removeMember":
        return busy(snapshot, { except: step.name });
      case "markRemoval": // to take a removal back begins nothing
        return step.removal === undefined ? undefined : busy(snapshot, { except: step.peer.metadata.name });
      default:
        return undefined;
    }
  },
};

/** Who is on the way in or out besides `except`. */
function busy(snapshot: ClusterSnapshot, { except }: { except?: string }): string | undefined {
  const coming = arriving(snapshot).find(({ name, isOurs }) => isOurs && name !== except);
  if (coming !== undefined) return `${coming.name} is still joining`;
  const intended = intendedPeers(snapshot).find(({ metadata }) => metadata.name !== except);
  if (intended !== undefined) return `${intended.metadata.name} is about to join`;
  const listed = new Set(knownMembers(snapshot).map(({ name }) => name));
  const leaving = snapshot.peers.find(
    ({ metadata }) =>
      metadata.annotations?.[REMOVAL_ANNOTATION] !== undefined && listed.has(metadata.name) && metadata.name !== except,
  );
  return leaving === undefined ? undefined : `${leaving.metadata.name} is still leaving`;
}

/** Nobody gets a vote who could come back from an empty volume. */
export const fenceBeforeVote: ClusterGuard = {
  name: "fence-before-vote",
  forbids(snapshot, step) {
    if (step.do !== "promote" || isFenced(snapshot, step.name)) return undefined;
    return `${step.name} is not fenced yet`;
  },
};

/** An EtcdPeer goes, and with it what holds its claim, only when etcd lists no member of its ID or its URL. */
export const notAMember: ClusterGuard = {
  name: "not-a-member",
  forbids(snapshot, step) {
    if (step.do !== "releaseClaim" && step.do !== "deletePeer") return undefined;
    if (snapshot.members.is !== "present") return "it is not known who is a member";
    const { name } = step.peer.metadata;
    const { memberID } = step.peer.spec;
    const listed = snapshot.members.value.members.some(
      (member) =>
        hexOf(member.id) === memberID || (memberID === undefined && member.peerUrls.includes(urlOf(snapshot, name))),
    );
    return listed ? `etcd lists ${name} as a member` : undefined;
  },
};

/** An alarm is lowered only when the member that it was raised for is a member no more. */
export const alarmIsOver: ClusterGuard = {
  name: "alarm-is-over",
  forbids(snapshot, step) {
    if (step.do !== "disarmAlarm") return undefined;
    const isMember = knownMembers(snapshot).some(({ id }) => id === hexOf(step.id));
    return isMember ? `member ${hexOf(step.id)} is still there` : undefined;
  },
};

/** A claim is deleted only because someone asked for fewer members, or before its member ever was one. */
export const askedToDelete: ClusterGuard = {
  name: "asked-to-delete",
  forbids(_snapshot, step) {
    if (step.do !== "releaseClaim" || step.finalizer !== CLEANUP_FINALIZER) return undefined;
    const asked =
      step.peer.metadata.annotations?.[REMOVAL_ANNOTATION] === "scale-down" || step.peer.spec.memberID === undefined;
    return asked ? undefined : `nobody asked for the data of ${step.peer.metadata.name} to be deleted`;
  },
};

/** What another owner manages is never changed. */
export const ownOnly: ClusterGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    const live = liveIn(step);
    if (live === undefined || isOwned(snapshot, live)) return undefined;
    return `${live.kind} ${live.metadata.name} is not this cluster's`;
  },
};

/** The object that the step changes; `undefined` for what it creates and for etcd's own business. */
function liveIn(step: ClusterStep): KubeObject | undefined {
  if ("live" in step) return step.live;
  return step.do === "markRemoval" || step.do === "releaseClaim" || step.do === "deletePeer" ? step.peer : undefined;
}

function peerIn(step: ClusterStep): Draft<EtcdPeer> | undefined {
  return step.do === "createPeer" || step.do === "replacePeer" ? step.peer : undefined;
}

/** THE invariants of a cluster. Each may hold back a step of any rule. */
export const CLUSTER_GUARDS: readonly ClusterGuard[] = [
  identityFirst,
  bootstrapOnce,
  joinedIsSeen,
  needMemberList,
  keepQuorum,
  oneAtATime,
  fenceBeforeVote,
  notAMember,
  alarmIsOver,
  askedToDelete,
  ownOnly,
];
