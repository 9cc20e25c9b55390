import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { CLEANUP_FINALIZER, isClaimGoing, REMOVAL_ANNOTATION, ROOT } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { whyNotShape } from "#api/shape.ts";
import { isToSleep } from "#api/sleep.ts";
import { providerOf, reachedBy, type Side, servedBy } from "#api/tls.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { membersWithoutQuestion, stateOf } from "#cluster/auth/hindrance.ts";
import { vouches } from "#cluster/certificates/course.ts";
import { formerTls, issuedTls, lookedAt } from "#cluster/certificates/former.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { AUTHORITY_OF, leavesOf, SHOWN_ON, SIDES, sideOf } from "#cluster/certificates/purposes.ts";
import { REACHED_MS } from "#cluster/certificates/rotation.ts";
import { dueUrl, halfway, listedBy, listensBy, whyNotReached, withoutPair } from "#cluster/certificates/scheme.ts";
import {
  isInUse,
  leftTrusting,
  mountedIn,
  secretsInUse,
  withoutBelief,
  withoutTrust,
} from "#cluster/certificates/trusted.ts";
import { isInTime, isOurs, isUnasked, seen, usable } from "#cluster/certificates/usable.ts";
import { WHAT_FOR } from "#cluster/certificates/words.ts";
import { isTlsOpen } from "#cluster/default-tls.ts";
import { othersDown } from "#cluster/fitness.ts";
import { neverRan, ownArriving } from "#cluster/learners.ts";
import {
  hasJoined,
  intendedPeers,
  isFenced,
  type KnownMember,
  knownMembers,
  mayBootstrap,
  memberById,
  memberNamed,
  ownVoters,
  spareVoters,
  takesPart,
  votersOf,
} from "#cluster/members.ts";
import { isVouchedFor, sickForMs } from "#cluster/patience.ts";
import { whyNotSpec } from "#cluster/refused-spec.ts";
import { canary, hasTurn, isAboutToRestart } from "#cluster/rolling.ts";
import {
  type ClusterSnapshot,
  identityOf,
  isForming,
  isOwned,
  peerNamed,
  type SeenCertificate,
} from "#cluster/snapshot.ts";
import { isDown } from "#cluster/standstill.ts";
import type { AuthStep, ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { isSurplusLearner } from "#cluster/surplus.ts";
import { whyNoPathTo, whyNotYet } from "#cluster/version-path.ts";
import { isWaived } from "#cluster/waivers.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { Draft, KubeObject } from "#kube/kinds.ts";

/** Nothing of a cluster is made before its identity is on record, and the identity is never written a second time. */
const identityFirst: ClusterGuard = {
  name: "identity-first",
  forbids(snapshot, step) {
    const recorded = identityOf(snapshot);
    if (step.do === "recordIdentity") {
      return recorded === undefined ? undefined : `the cluster is ${recorded.clusterID} already`;
    }
    if (step.do === "writeTls") return recorded === undefined ? undefined : "the cluster has been made already";
    if (step.do === "createRestore") return recorded === undefined ? undefined : "the cluster has its data already";
    return recorded === undefined ? "the cluster's identity is not on record" : undefined;
  },
};

/** A cluster that is to begin with a stored snapshot never begins with nothing: it is only ever what its claims say. */
const restoredFirst: ClusterGuard = {
  name: "restored-first",
  forbids({ cluster }, step) {
    if (step.do !== "recordIdentity" || cluster.spec.bootstrap === undefined) return undefined;
    return step.identity.initialMembers.some(({ joined }) => joined)
      ? undefined
      : "no claim holds the data of a snapshot";
  },
};

/**
 * Whether a cluster speaks TLS is written by the operator only before the cluster is made, and only when nobody has said it; and no cluster is made
 * as long as nobody has.
 */
const tlsIsSaid: ClusterGuard = {
  name: "tls-is-said",
  forbids(snapshot, step) {
    const isOpen = isTlsOpen(snapshot);
    if (step.do === "writeTls") return isOpen ? undefined : "it is said already whether the cluster speaks TLS";
    if (step.do !== "recordIdentity" && step.do !== "createRestore") return undefined;
    return isOpen ? "nobody has said yet whether the cluster speaks TLS" : undefined;
  },
};

/**
 * A cluster is bootstrapped once in its life: only by members of the frozen list, each only until it has joined, and once the
 * cluster has formed only while etcd lists it as one that has not started.
 */
const bootstrapOnce: ClusterGuard = {
  name: "bootstrap-once",
  forbids(snapshot, step) {
    const peer = peerIn(step);
    if (peer?.spec?.bootstrap?.initialClusterState !== "New") return undefined;
    const { name } = peer.metadata;
    const initial = identityOf(snapshot)?.initialMembers.find((member) => member.name === name);
    if (initial === undefined) return `${name} is not in the frozen list of first members`;
    if (initial.joined) return `${name} has joined; on an empty volume it would forget what it acknowledged`;
    return mayBootstrap(snapshot, initial)
      ? undefined
      : `the cluster has formed, and etcd does not list ${name} as yet to start`;
  },
};

/** What no member could run is given to none, whoever wrote it and whichever way it came. */
const runnableOnly: ClusterGuard = {
  name: "runnable-only",
  forbids(_, step) {
    const spec = peerIn(step)?.spec;
    if (spec === undefined) return undefined;
    // Who has it already is none the better for being left alone.
    if (step.do === "replacePeer" && revisionOf(step.live.spec) === revisionOf(spec)) return undefined;
    return whyNotShape(spec, ETCD_PEERS.kind) ?? whyNotSpec(spec, spec.version, spec.clusterName)[0];
  },
};

/** A member counts as joined only when it has just answered as who it is on record, or etcd has just listed it as started. */
const joinedIsSeen: ClusterGuard = {
  name: "joined-is-seen",
  forbids(snapshot, step) {
    if (step.do !== "recordJoined") return undefined;
    const unseen = step.names.find((name) => {
      const member = identityOf(snapshot)?.initialMembers.find((initial) => initial.name === name);
      return member === undefined || !hasJoined(snapshot, member);
    });
    return unseen === undefined ? undefined : `${unseen} has not answered as part of this cluster`;
  },
};

/**
 * Members are put to sleep only when nobody is wanted, once the cluster has formed and whoever has joined could not bootstrap again; they are
 * woken only when somebody is wanted.
 */
const sleepIsAsked: ClusterGuard = {
  name: "sleep-is-asked",
  forbids(snapshot, step) {
    const { cluster, peers } = snapshot;
    if (step.do === "wakeUp") return isToSleep(cluster) ? "spec.replicas is 0" : undefined;
    if (step.do !== "fallAsleep") return undefined;
    if (!isToSleep(cluster)) return `spec.replicas is ${cluster.spec.replicas}`;
    if (isForming(snapshot)) return "the cluster has not formed yet";
    const joined = identityOf(snapshot)?.initialMembers.filter((member) => member.joined) ?? [];
    const unfenced = peers.find(
      ({ spec }) => spec.bootstrap !== undefined && joined.some(({ id }) => id === spec.memberID),
    );
    return unfenced === undefined ? undefined : `${unfenced.metadata.name} has joined, and could bootstrap again`;
  },
};

/** While nobody is wanted, the cluster stays who it is: nobody is added, promoted or removed, and no claim is let go. */
const sleepKeepsMembers: ClusterGuard = {
  name: "sleep-keeps-members",
  forbids({ cluster }, step) {
    if (!isToSleep(cluster)) return undefined;
    const isNewcomer = peerIn(step)?.spec?.bootstrap?.initialClusterState === "Existing";
    // Whose pod runs nothing while the cluster forms may be helped.
    const isAboutMembers = step.do !== "restartPod" && ABOUT_MEMBERSHIP.includes(step.do);
    const isKept = isAboutMembers || step.do === "recordIdentity" || isNewcomer;
    return isKept ? "spec.replicas is 0: the cluster is to sleep as it is" : undefined;
  },
};

/** Steps that change who is a member, or what becomes of a member's data. */
const ABOUT_MEMBERSHIP: readonly ClusterStep["do"][] = [
  "addLearner",
  "disarmAlarm",
  "enableDowngrade",
  "cancelDowngrade",
  "promote",
  "updateMember",
  "moveLeader",
  "restartPod",
  "removeMember",
  "markRemoval",
  "releaseClaim",
  "deletePeer",
];

/** A pod in which no etcd runs, or in which the only one hangs, can be made anew: that touches nobody. */
function isHarmless(snapshot: ClusterSnapshot, step: ClusterStep): boolean {
  return step.do === "restartPod" && isDown(snapshot, step.name);
}

/** Without a linearizable member list, no member and no data is changed. */
const needMemberList: ClusterGuard = {
  name: "need-member-list",
  forbids(snapshot, step) {
    const isAboutEtcd = ABOUT_MEMBERSHIP.includes(step.do) || (isAboutAuth(step) && step.do !== "createRootSecret");
    if (!isAboutEtcd || snapshot.members.is === "present" || isHarmless(snapshot, step)) return undefined;
    return "the member list could not be read linearizably";
  },
};

/**
 * No restart leaves fewer healthy voters than a quorum, and nobody has a turn that it could not use, unless fewer than three members are wanted. It may take the last spare one, since
 * the member comes back with its data.
 */
export const restartKeepsQuorum: ClusterGuard = {
  name: "restart-keeps-quorum",
  forbids(snapshot, step) {
    const restarts = restartedBy(snapshot, step);
    const voters = votersOf(snapshot);
    if (!voters.some(({ name }) => name === restarts)) return undefined;
    if (voters.length < 3 && snapshot.cluster.spec.replicas < 3) return undefined;
    const healthy = voters.filter((member) => member.name !== restarts && takesPart(snapshot, member)).length;
    const isEnough = spareVoters(voters.length, healthy) >= 0;
    return isEnough ? undefined : `${healthy} of ${voters.length} voters would be healthy: less than a quorum`;
  },
};

/** Who restarts by the step, now or when its turn comes, and takes part until then. */
function restartedBy(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do === "replacePeer") return givesTurn(snapshot, step) ? step.live.metadata.name : undefined;
  return step.do === "restartPod" && !isHarmless(snapshot, step) ? step.name : undefined;
}

/** No member gets a release, or restarts with one, that it cannot go to from what the cluster runs. */
const versionPath: ClusterGuard = {
  name: "version-path",
  forbids(snapshot, step) {
    if (step.do === "restartPod") {
      const version = peerNamed(snapshot, step.name)?.spec.version;
      return version === undefined ? undefined : whyNoPathTo(snapshot, version);
    }
    const version = peerIn(step)?.spec?.version;
    if (version === undefined || version === ownVersion(snapshot, step)) return undefined;
    return whyNoPathTo(snapshot, version);
  },
};

/**
 * No member gets a release of an older minor, or restarts with one, before etcd's own downgrade has brought its data there; unless some member
 * still runs it, so that the cluster never spoke a later one. Nor one of a newer minor before all data has been converted back.
 */
const downgradeEnabled: ClusterGuard = {
  name: "downgrade-enabled",
  forbids(snapshot, step) {
    if (step.do === "restartPod") {
      const version = peerNamed(snapshot, step.name)?.spec.version;
      return version === undefined || isHarmless(snapshot, step) ? undefined : whyNotYet(snapshot, step.name, version);
    }
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const { version } = peer.spec;
    const { name } = peer.metadata;
    if (version === ownVersion(snapshot, step)) return undefined;
    return whyNotYet(snapshot, name, version);
  },
};

/** The release that the member of this EtcdPeer has already: it gets its own data back with what it ran. */
function ownVersion(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do === "replacePeer") return step.live.spec.version;
  const name = peerIn(step)?.metadata.name;
  return snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
}

/** A member that has been sick for less than this, in milliseconds, may be well: a pod that has just started is not dialled yet. */
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
    if (step.do === "removeMember" && target.isLearner) return undefined; // A learner has no vote, so no quorum changes.
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
      case "restartPod":
        return isHarmless(snapshot, step)
          ? undefined
          : (busy(snapshot, { except: step.name }) ?? down(snapshot, step.name));
      case "replacePeer":
        return givesTurn(snapshot, step) ? whyNoTurn(snapshot, step.live.metadata.name) : undefined;
      case "removeMember":
        return isComing(snapshot, step.name) ? undefined : busy(snapshot, { except: step.name });
      case "markRemoval": {
        // To take a removal back begins nothing, and to give up somebody who is coming ends something.
        const { name } = step.peer.metadata;
        return step.removal === undefined || isComing(snapshot, name) ? undefined : busy(snapshot, { except: name });
      }
      default:
        return undefined;
    }
  },
};

/** Whether the member would have to restart that need not without the step. One that takes no part loses nothing by it. */
function givesTurn(snapshot: ClusterSnapshot, { live, peer }: { live: EtcdPeer; peer: Draft<EtcdPeer> }): boolean {
  const { name } = live.metadata;
  const member = memberNamed(snapshot, name);
  if (peer.spec === undefined || member === undefined || member.isLearner || !takesPart(snapshot, member)) return false;
  return revisionOf(peer.spec) !== revisionOf(live.spec) && !hasTurn(snapshot, live);
}

function whyNoTurn(snapshot: ClusterSnapshot, name: string): string | undefined {
  return busy(snapshot, { except: name }) ?? down(snapshot, name) ?? turned(snapshot);
}

/** Says which other member does not do its part. */
function down(snapshot: ClusterSnapshot, name: string): string | undefined {
  // A quorum has to be left all the same, and whoever tries out what is new has to come up with it.
  const isExcused = ({ id }: KnownMember) => isWaived(snapshot, "members-healthy") && canary(snapshot)?.id !== id;
  const other = othersDown(snapshot, name).find((member) => !isExcused(member));
  return other === undefined ? undefined : `${other.name} does not do its part`;
}

/** Says which member is about to restart. */
function turned(snapshot: ClusterSnapshot): string | undefined {
  const other = snapshot.peers.find((peer) => isAboutToRestart(snapshot, peer));
  return other === undefined ? undefined : `${other.metadata.name} is about to restart`;
}

function isComing(snapshot: ClusterSnapshot, name: string): boolean {
  return ownArriving(snapshot).some((member) => member.name === name);
}

/** Says who is on the way in or out besides `except`. */
function busy(snapshot: ClusterSnapshot, { except }: { except?: string }): string | undefined {
  const coming = ownArriving(snapshot).find(({ name }) => name !== except);
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

/** Nobody gets a vote who could come back from an empty volume: neither its next pod nor the one that runs may bootstrap. */
const fenceBeforeVote: ClusterGuard = {
  name: "fence-before-vote",
  forbids(snapshot, step) {
    if (step.do !== "promote" || isFenced(snapshot, step.name)) return undefined;
    return `${step.name} is not fenced yet`;
  },
};

/** A voter is given up only when nobody says that it is well: not itself, not the kubelet, not the other members. */
const nobodyVouches: ClusterGuard = {
  name: "nobody-vouches",
  forbids(snapshot, step) {
    const name =
      step.do === "markRemoval" ? step.peer.metadata.name : step.do === "removeMember" ? step.name : undefined;
    const voter = votersOf(snapshot).find((member) => member.name === name);
    if (name === undefined || voter === undefined) return undefined;
    const recorded = peerNamed(snapshot, name)?.metadata.annotations?.[REMOVAL_ANNOTATION];
    const removal = step.do === "markRemoval" ? step.removal : recorded;
    if (removal === undefined || removal === "scale-down") return undefined;
    if (takesPart(snapshot, voter)) return `${name} takes part`;
    return isVouchedFor(snapshot, voter) ? `${name} gives no answer, and others say that it is well` : undefined;
  },
};

/** An EtcdPeer goes, and with it what holds its claim, only when etcd lists no member of its ID or its URL. */
const notAMember: ClusterGuard = {
  name: "not-a-member",
  forbids(snapshot, step) {
    if (step.do !== "releaseClaim" && step.do !== "deletePeer") return undefined;
    if (snapshot.members.is !== "present") return "it is not known who is a member";
    const { name } = step.peer.metadata;
    const { memberID } = step.peer.spec;
    if (memberID === undefined) {
      // This is an intent. Nothing of it was started, and a member that was added for it gets an EtcdPeer again.
      return step.do === "releaseClaim" ? `${name} was never started and has no claim` : undefined;
    }
    return memberById(snapshot, memberID) === undefined ? undefined : `etcd lists ${name} as a member`;
  },
};

/** An alarm is lowered only when the member that it was raised for is a member no more. */
const alarmIsOver: ClusterGuard = {
  name: "alarm-is-over",
  forbids(snapshot, step) {
    if (step.do !== "disarmAlarm") return undefined;
    const isMember = knownMembers(snapshot).some(({ id }) => id === hexOf(step.id));
    return isMember ? `member ${hexOf(step.id)} is still there` : undefined;
  },
};

/**
 * A claim is deleted only because someone asked for fewer members, or because no etcd ever ran on it. Both are looked at when the
 * reason is written down, and read again when the claim is let go.
 */
const askedToDelete: ClusterGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (step.do === "releaseClaim" && step.finalizer === CLEANUP_FINALIZER) {
      const isGoing = isClaimGoing(step.peer.metadata.annotations?.[REMOVAL_ANNOTATION]);
      return isGoing ? undefined : `nobody asked for the data of ${step.peer.metadata.name} to be deleted`;
    }
    if (step.do !== "markRemoval" || !isClaimGoing(step.removal)) return undefined;
    const { name } = step.peer.metadata;
    const member = knownMembers(snapshot).find((each) => each.name === name);
    if (member === undefined) return `${name} is not a member`;
    if (step.removal === "never-started") return neverRan(snapshot, member) ? undefined : `${name} may hold data`;
    const asked = ownVoters(snapshot).length > snapshot.cluster.spec.replicas || isSurplusLearner(snapshot, member);
    return asked ? undefined : "nobody asked for fewer members than there are";
  },
};

/**
 * Members that run go over to TLS, or back, only so that all of them reach each other at every moment: nobody is reached over TLS before every member
 * could dial it, no two of them at once otherwise than etcd lists them, and nobody loses its certificate while somebody is reached over TLS. Clients
 * are served both ways in between.
 */
const tlsStepwise: ClusterGuard = {
  name: "tls-stepwise",
  forbids(snapshot, step) {
    if (step.do === "updateMember") return whyNotListed(snapshot, step);
    if (step.do === "restartPod") {
      const peer = peerNamed(snapshot, step.name);
      const url = peer && !isHarmless(snapshot, step) ? dueUrl(snapshot, peer) : undefined;
      return url === undefined ? undefined : `etcd does not list ${step.name} at ${url} yet`;
    }
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const live = step.do === "replacePeer" ? step.live : undefined;
    const side = SIDES.find((each) => isOtherwise(snapshot, peer, each));
    if (side !== undefined) return `${peer.metadata.name} would not speak as the cluster is asked to (${side})`;
    return whyNotPeerSide(snapshot, peer, live) ?? whyNotClientSide(snapshot, peer, live);
  },
};

/** Whether the member would have TLS there that nobody has asked for, or be the first one, without what is asked for. */
function isOtherwise({ cluster, peers }: ClusterSnapshot, { spec }: Draft<EtcdPeer>, side: Side): boolean {
  const has = spec?.tls?.[side] !== undefined;
  const isAsked = providerOf(cluster.spec, side) !== "None";
  return has ? !isAsked && peers.every((each) => each.spec.tls?.[side] === undefined) : isAsked && peers.length === 0;
}

function whyNotPeerSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  if (spec === undefined) return undefined;
  const whyNot = live && whyNotReached(snapshot, live, reachedBy(spec));
  if (whyNot !== undefined) return whyNot;
  const isBare = spec.tls?.peer === undefined;
  const others = snapshot.peers.filter(({ metadata: { name } }) => name !== metadata.name);
  const reached = others.find((each) => reachedBy(each.spec) === "https" || isHeard(snapshot, each.metadata.name));
  if (isBare && live?.spec.tls?.peer === undefined && live !== undefined) return undefined;
  if (isBare && reached !== undefined)
    return `${metadata.name} could not dial ${reached.metadata.name}, which is reached over TLS`;
  const isNew = live === undefined && snapshot.peers.length > 0 && reachedBy(spec) === "https" && reached === undefined;
  const [bare] = isNew ? withoutPair(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could dial nobody over TLS`;
}

/** Whether etcd lists the member, or its pod listens, over TLS. */
function isHeard(snapshot: ClusterSnapshot, name: string): boolean {
  const [member, pod] = [memberNamed(snapshot, name), snapshot.pods.get(name)];
  const isListed = member !== undefined && listedBy(snapshot, member) === "https";
  return isListed || (pod !== undefined && listensBy(pod) === "https");
}

function whyNotClientSide(snapshot: ClusterSnapshot, { metadata, spec }: Draft<EtcdPeer>, live: EtcdPeer | undefined) {
  const [own, second] = spec === undefined ? [] : servedBy(spec);
  if (own === undefined || second !== undefined) return undefined;
  const others = live === undefined ? snapshot.peers : [live];
  const lost = others.find((each) => !servedBy(each.spec).includes(own));
  return lost && `${metadata.name} would serve no client that ${lost.metadata.name} serves`;
}

/** Why etcd must not be told that the member is reached there. */
function whyNotListed(
  snapshot: ClusterSnapshot,
  { name, peerUrl, id }: { name: string; peerUrl: string; id: MemberId },
) {
  const peer = peerNamed(snapshot, name);
  const member = memberById(snapshot, hexOf(id));
  if (peer === undefined || member?.name !== name || dueUrl(snapshot, peer) !== peerUrl)
    return `EtcdPeer ${name} does not say that it is reached at ${peerUrl}`;
  const other = halfway(snapshot).find((each) => each !== name);
  if (other !== undefined) return `${other} is not reached as etcd lists it yet`;
  const [bare] = reachedBy(peer.spec) === "https" ? withoutPair(snapshot) : [];
  return bare === undefined ? undefined : `${bare} could dial nobody over TLS`;
}

/** Nobody gets a Secret that somebody else fills and that is not for EtcdClusters, unless members of the cluster have it already. */
const allowedSecrets: ClusterGuard = {
  name: "allowed-secrets",
  forbids(given, step) {
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const secretName = peer.spec.tls?.[side]?.secretName;
      const isBrought = providerOf(snapshot.cluster.spec, side) === "Secret";
      if (secretName === undefined || !isBrought || secretsInUse(snapshot, side).has(secretName)) continue;
      const facts = seen(snapshot, SHOWN_ON[side]);
      if (facts?.secretName !== secretName || !facts.mayBeShown)
        return `Secret ${secretName} is not known to be for EtcdClusters`;
    }
    return undefined;
  },
};

/**
 * An authority signs nothing that somebody shows before every member trusts it; it is followed by another one only when every member
 * trusts that, and one before it is dropped only when nothing of its is in use.
 */
const trustedFirst: ClusterGuard = {
  name: "trusted-first",
  forbids(given, step) {
    if (step.do === "issueLeaf") {
      const { purpose, authority, facts } = step;
      const snapshot = issuedTls(keptTls(given), sideOf(purpose));
      const id = authority.fingerprint;
      const isSafe = facts?.signerId === id || isUnasked(snapshot, purpose) || !isInUse(snapshot, purpose);
      return isSafe ? undefined : untrusting(snapshot, sideOf(purpose), id);
    }
    if (step.do === "handOut") {
      const isSafe = step.facts === undefined || isUnasked(given, "application");
      return isSafe ? undefined : unbelieving(given, "client", step.source);
    }
    if (step.do !== "rotateAuthority") return undefined;
    const snapshot = keptTls(given);
    const { side, phase, facts } = step;
    if (phase === "switch")
      return facts.nextId === undefined ? "no authority is to follow" : untrusting(snapshot, side, facts.nextId);
    if (phase !== "drop") return undefined;
    const old = leavesOf(snapshot.cluster, side).find(
      (purpose) => usable(snapshot, purpose)?.signerId !== facts.fingerprint,
    );
    if (old !== undefined) return `the authority before may still vouch for ${WHAT_FOR[old]}`;
    return untrusting(snapshot, side, facts.fingerprint);
  },
};

/** Nobody comes to show what another Secret holds before all members believe it, and it is good. */
const shownWhenTrusted: ClusterGuard = {
  name: "shown-when-trusted",
  forbids(given, step) {
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const secretName = comesToShow(snapshot, step, side);
      const found = secretName === undefined ? undefined : lookedAt(snapshot, side, secretName);
      if (secretName === undefined) continue;
      if (found?.is !== "present") return `nobody knows what is in Secret ${secretName}`;
      const { trouble } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}: ${trouble}`;
      if (!isInTime(snapshot, found.value)) return `the time of Secret ${secretName} is over, or has not come`;
      const why = isPeersOrAsked(snapshot, side) ? unbelieving(snapshot, side, found.value) : undefined;
      if (why !== undefined) return why;
    }
    return undefined;
  },
};

/** Whether members ask who shows it to them: of what they show to clients they do, as their own clients. */
function isPeersOrAsked(snapshot: ClusterSnapshot, side: Side): boolean {
  return side === "peer" || !isUnasked(snapshot, "operator");
}

/** The Secret that a member comes to show by the step, where it is another one than it shows by now. */
function comesToShow(snapshot: ClusterSnapshot, step: ClusterStep, side: Side): string | undefined {
  if (step.do === "restartPod") {
    const next = peerNamed(snapshot, step.name)?.spec.tls?.[side]?.secretName;
    const shown = mountedIn(step.pod, side);
    return shown === undefined || shown === next ? undefined : next;
  }
  if (step.do !== "replacePeer") return undefined;
  const [next, before] = [step.peer.spec, step.live.spec].map((spec) => spec?.tls?.[side]?.secretName);
  return before === undefined || before === next ? undefined : next;
}

/**
 * Nobody stops to trust who vouches for what the operator shows to members, which would lock it out, or for what members show to each other. Nor
 * does anybody begin to ask clients for certificates who would not believe the operator's.
 */
const trustKept: ClusterGuard = {
  name: "trust-kept",
  forbids(given, step) {
    if (step.do !== "replacePeer") return undefined;
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const [next, before] = [step.peer.spec, step.live.spec].map((spec) => spec?.tls?.[side]?.trust);
      if (next === undefined || before === undefined || next === before) continue;
      const lost = inUseOn(snapshot, side).find((facts) => vouches(before, facts) && !vouches(next, facts));
      if (lost !== undefined)
        return `${step.live.metadata.name} would not trust who has signed Secret ${lost.secretName}, which is in use`;
    }
    return whyShutOut(snapshot, step);
  },
};

/** Why a member that comes to ask clients for certificates would not let the operator in. */
function whyShutOut(snapshot: ClusterSnapshot, { live, peer }: Extract<ClusterStep, { do: "replacePeer" }>) {
  const [next, before] = [peer.spec, live.spec].map((spec) => spec?.tls?.client);
  if (next?.verifyClients !== true || before?.verifyClients !== false) return undefined;
  const stranger = inUseOn(snapshot, "client").find((facts) => !vouches(next.trust, facts));
  if (stranger === undefined) return undefined;
  return `${live.metadata.name} would ask for certificates, and not believe Secret ${stranger.secretName}, which the operator shows`;
}

/** What is shown to members: by each other, or by the operator. */
function inUseOn(snapshot: ClusterSnapshot, side: Side): readonly SeenCertificate[] {
  const purpose = side === "peer" ? "peer" : "operator";
  if (isUnasked(snapshot, purpose)) return [];
  return [snapshot, formerTls(snapshot)].flatMap((view) => {
    if (view === undefined || !isInUse(view, purpose)) return [];
    return seen(view, purpose) ?? [];
  });
}

/**
 * While members show each other what some of them do not believe, nobody restarts who runs, and nobody is given up: whoever came back would be out.
 * Nor while what they are to show is of no use; who seems lost while they get something new may only not have it yet. And nobody restarts who runs
 * while it is not there, be it for the others or for clients: its next pod would not start.
 */
const stillBelieved: ClusterGuard = {
  name: "still-believed",
  forbids(given, step) {
    const snapshot = keptTls(given);
    const isRestart = restartedBy(snapshot, step) !== undefined;
    const isGivenUp = step.do === "markRemoval" && step.removal !== undefined && step.removal !== "scale-down";
    if (!(isRestart || isGivenUp)) return undefined;
    const server = isRestart ? toServe(snapshot, step) : undefined;
    if (server !== undefined && lookedAt(snapshot, "client", server)?.is === "absent")
      return `Secret ${server}, what the member is to show to clients, is not there: its pod would not start`;
    // What nobody shows yet is no matter: members come to trust it first.
    for (const secretName of secretsInUse(snapshot, "peer")) {
      const found = lookedAt(snapshot, "peer", secretName);
      if (isRestart && found?.is === "absent")
        return `Secret ${secretName}, what members show to each other, is not there`;
      if (found?.is !== "present") continue;
      const { trouble, knownForMs } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}, what members show to each other: ${trouble}`;
      if (isGivenUp && knownForMs < REACHED_MS)
        return `members may not have yet what is in Secret ${secretName}, which they show to each other`;
      const names = withoutBelief(snapshot, "peer", found.value);
      if (names.length > 0) return `${names.join(", ")} would not believe what members show to each other`;
    }
    return undefined;
  },
};

/** The Secret that a member shows to clients after its restart. */
function toServe(snapshot: ClusterSnapshot, step: ClusterStep): string | undefined {
  const spec = step.do === "restartPod" ? peerNamed(snapshot, step.name)?.spec : peerIn(step)?.spec;
  return spec?.tls?.client?.secretName;
}

/** Says which members do not trust the authority. */
function untrusting(snapshot: ClusterSnapshot, side: Side, id: string): string | undefined {
  const names = withoutTrust(snapshot, side, [id]);
  return names.length === 0 ? undefined : `${names.join(", ")} would not trust what the authority signs`;
}

/** Says which members would not believe whoever shows it. */
function unbelieving(snapshot: ClusterSnapshot, side: Side, facts: SeenCertificate): string | undefined {
  const names = withoutBelief(snapshot, side, facts);
  return names.length === 0 ? undefined : `${names.join(", ")} would not believe what Secret ${facts.secretName} holds`;
}

/** An authority is made only where there is none, and one that cannot sign is changed by nobody but people, who may have its key. */
const authorityKept: ClusterGuard = {
  name: "authority-kept",
  forbids(snapshot, step) {
    if (step.do === "issueAuthority") {
      const is = snapshot.certificates?.[AUTHORITY_OF[step.side]]?.is;
      if (is !== "absent") return "the authority may be there";
      const left = leftTrusting(snapshot, step.side);
      return left.length === 0 ? undefined : `${left.join(", ")} would not trust it, whose EtcdPeers are gone`;
    }
    if (step.do !== "rotateAuthority" || step.facts.trouble === undefined) return undefined;
    return `Secret ${step.facts.secretName}: ${step.facts.trouble}`;
  },
};

/**
 * etcd's users are changed only where the spec says that they are to be asked for, and only root and the operator; they are asked for no more only
 * where it says so.
 */
const authIsAsked: ClusterGuard = {
  name: "auth-is-asked",
  forbids({ cluster, auth }, step) {
    const wanted = isAuthWanted(cluster.spec);
    if (step.do === "disableAuth")
      return wanted === false ? undefined : "nobody says that etcd is to ask for users no more";
    if (!isAboutAuth(step)) return undefined;
    if (wanted !== true) return "nobody says that etcd is to ask for users";
    if (step.do === "createRootSecret") return auth?.rootSecret.is === "absent" ? undefined : "the Secret may be there";
    if (step.do === "setRootPassword") return step.secret.trouble;
    if (step.do === "enableAuth") return undefined;
    const isOwn = step.user === ROOT ? step.do === "grantRole" : step.user !== "" && step.user === auth?.user;
    return isOwn ? undefined : `${step.user} is not the operator`;
  },
};

function isAboutAuth(step: ClusterStep): step is AuthStep {
  return (AUTH_STEPS as readonly string[]).includes(step.do);
}

const AUTH_STEPS: readonly AuthStep["do"][] = [
  "createRootSecret",
  "setRootPassword",
  "addUser",
  "grantRole",
  "enableAuth",
  "disableAuth",
];

/**
 * etcd asks for users only when the operator was seen to be an administrator there by the name in its certificate, root to have the password in its
 * Secret, and every member to run so that it asks clients for certificates: otherwise nobody could log in, and nobody switch it off.
 */
const administratorFirst: ClusterGuard = {
  name: "administrator-first",
  forbids(snapshot, step) {
    if (step.do !== "enableAuth") return undefined;
    const { auth, cluster } = snapshot;
    const state = stateOf(snapshot);
    if (!doClientsShowCertificates(cluster.spec)) return "clients show no certificates";
    if (!auth?.user || auth.user === ROOT) return "the operator's certificate does not name it";
    if (state?.operator?.includes(ROOT) !== true) return `${auth.user} was not seen to be an administrator`;
    if (state.root?.includes(ROOT) !== true || !state.isRootsPassword)
      return "root was not seen to be as its Secret says";
    const names = membersWithoutQuestion(snapshot);
    return names.length === 0 ? undefined : `${names.join(", ")} would not know who asks`;
  },
};

/** While etcd asks for users, no member gets what would let it ask no certificate of clients: it would know nobody, the operator included. */
const loginStays: ClusterGuard = {
  name: "login-stays",
  forbids({ cluster }, step) {
    const peer = peerIn(step);
    if (peer?.spec === undefined || cluster.status?.auth?.enabled !== true) return undefined;
    const had = step.do === "replacePeer" ? step.live.spec.tls?.client?.verifyClients : true;
    if (had !== true || peer.spec.tls?.client?.verifyClients === true) return undefined;
    return `${peer.metadata.name} would ask clients for no certificate, and etcd asks for users`;
  },
};

/** What another owner manages is never changed. */
const ownOnly: ClusterGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    const facts = "facts" in step ? step.facts : undefined;
    if (facts !== undefined && !isOurs(snapshot, facts)) return `Secret ${facts.secretName} is not this cluster's`;
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

/** These are the invariants of a cluster. Each may hold back a step of any rule. */
export const CLUSTER_GUARDS: readonly ClusterGuard[] = [
  identityFirst,
  tlsIsSaid,
  restoredFirst,
  bootstrapOnce,
  runnableOnly,
  joinedIsSeen,
  sleepIsAsked,
  sleepKeepsMembers,
  needMemberList,
  keepQuorum,
  restartKeepsQuorum,
  versionPath,
  downgradeEnabled,
  oneAtATime,
  fenceBeforeVote,
  nobodyVouches,
  notAMember,
  alarmIsOver,
  askedToDelete,
  tlsStepwise,
  allowedSecrets,
  trustedFirst,
  shownWhenTrusted,
  trustKept,
  stillBelieved,
  authorityKept,
  authIsAsked,
  administratorFirst,
  loginStays,
  ownOnly,
];
