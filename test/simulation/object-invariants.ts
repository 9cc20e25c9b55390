import { isDeepStrictEqual } from "node:util";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import { isAsleep } from "#api/sleep.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { quorumOf } from "#etcd/quorum.ts";
import { hexOf, type MemberId } from "#etcd/types.ts";
import type { ApiWrite } from "#kit/world/api.ts";
import type { World, WorldEvent } from "#kit/world/world.ts";
import {
  controllerOf,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
} from "#kube/kinds.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerStep } from "#peer/step.ts";
import { dyingClaims } from "./impediments.ts";
import type { Invariant, Memory } from "./memory.ts";

export const claimsStay: Invariant = {
  name: "claims stay",
  promise:
    "The claim of a listed member changes only in its labels, its peer scheme and its release. The operator deletes a claim only if a person asked for fewer members, the claim never held data, or the member never voted.",
  breaks(event, world, memory) {
    const { is } = event;
    if (is !== "write" || event.actor !== "operator" || event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    if (event.before === undefined || isHarmlessEdit(event.before, event.after)) return undefined;
    const { name, annotations } = event.before.metadata;
    const clusterID = annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const memberID = annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
    const { members } = world.etcd.truth.named(clusterID) ?? { members: new Map() };
    if ([...members.keys()].some((id) => hexOf(id) === memberID))
      return `${event.verb} of the claim of listed member ${name}`;
    if (event.verb !== "delete" && event.verb !== "remove") return undefined;
    const { onceHadData, everVoted } = world.etcd.truth.named(clusterID) ?? {};
    const isIn = (ids: ReadonlySet<MemberId> | undefined) => [...(ids ?? [])].some((id) => hexOf(id) === memberID);
    const hadNoVolume = (event.before as PersistentVolumeClaim).spec?.volumeName === undefined;
    const isNeedless = hadNoVolume || !isIn(onceHadData) || !isIn(everVoted);
    return memory.toGo.has(`${clusterID}/${memberID}`) || isNeedless
      ? undefined
      : `the data of ${name} is deleted without a request`;
  },
};

/** Whether only labels, the peer scheme or the release has changed, and the claim is not quarantined. */
function isHarmlessEdit(before: KubeObject, after: KubeObject | undefined): boolean {
  if (after?.metadata.deletionTimestamp !== before.metadata.deletionTimestamp) return false;
  if (after === undefined || after.metadata.labels?.[QUARANTINE_LABEL] !== undefined) return false;
  return isDeepStrictEqual(withoutSaid(after), withoutSaid(before));
}

function withoutSaid({ metadata }: KubeObject): object {
  const { [PEER_SCHEME_ANNOTATION]: _, [CLAIM_RELEASE_ANNOTATION]: __, ...rest } = metadata.annotations ?? {};
  return rest;
}

/**
 * Longest time from a decision to its write, in milliseconds: the pass, and the transit after the operator stopped
 * waiting.
 */
const LATEST_MS = 60_000;

export const dyingClaimsAreHeld: Invariant = {
  name: "dying claims are held",
  promise:
    "A pod is stopped, for a restart or for sleep, only if the remaining members with data are a quorum. Claims that were being deleted when the stop was decided count as lost.",
  breaks(event, world, { doomed }) {
    if (event.is === "acts" && "cluster" in event.snapshot) {
      const { step, snapshot } = event;
      const atMs = world.time.nowMs;
      const note = (uid: string, loss: string | undefined) =>
        doomed.set(uid, [...(doomed.get(uid) ?? []), { atMs, loss }]);
      if (step.do === "restartPod") note(step.pod.metadata.uid, lossWith(step.name, snapshot, world));
      if (step.do === "fallAsleep") note(snapshot.cluster.metadata.uid, lossWith(undefined, snapshot, world));
    }
    if (event.is !== "write" || event.actor !== "operator" || event.before === undefined) return undefined;
    const { resource, verb, before, after } = event;
    const fallsAsleep = () => isAsleep(after as EtcdCluster) && !isAsleep(before as EtcdCluster);
    const isStopped = resource === PODS ? verb === "delete" : resource === ETCD_CLUSTERS && after && fallsAsleep();
    if (!isStopped) return undefined;
    const decided = takeRecentDecisions(doomed, before.metadata.uid, world);
    return decided.some(({ loss }) => loss === undefined) ? undefined : decided.at(-1)?.loss;
  },
};

/**
 * Recent decisions about this object that its write may belong to. They are removed: the write happens now, and later
 * ones need a new decision.
 */
function takeRecentDecisions<Decided extends { readonly atMs: number }>(
  all: Map<string, Decided[]>,
  uid: string,
  { time }: World,
): readonly Decided[] {
  const decided = all.get(uid) ?? [];
  all.delete(uid);
  return decided.filter(({ atMs }) => time.nowMs - atMs <= LATEST_MS);
}

/**
 * Data that is lost when this member stops, or when all stop if none is named, by the content of the API server.
 * Undefined: a quorum still has it. Volumes that were emptied unseen and members that a person runs are not counted as
 * lost.
 */
function lossWith(name: string | undefined, snapshot: ClusterSnapshot, world: World): string | undefined {
  const { identity } = snapshot.cluster.status ?? {};
  if (identity === undefined) return undefined;
  const truth = world.etcd.truth.named(identity.clusterID);
  const voters = [...(truth?.members.values() ?? [])].filter(({ isLearner }) => !isLearner);
  const hadData = voters.filter(({ id }) => truth?.onceHadData.has(id)).map(({ id }) => hexOf(id));
  const claims = world.api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .filter(({ metadata }) => metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === identity.clusterID);
  const memberOf = ({ metadata }: PersistentVolumeClaim) => metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] ?? "";
  const dying = dyingClaims(world, identity, voters).filter(
    (claim) =>
      world.kubelets.disks.get(claim.spec?.volumeName ?? "")?.data !== undefined &&
      (name === undefined || claim.metadata.name === name) &&
      hadData.includes(memberOf(claim)),
  );
  const left = voters.filter(({ id }) => {
    const own = claims.filter((claim) => memberOf(claim) === hexOf(id));
    const hasClaim = hadData.includes(hexOf(id)) && own.length > 0;
    return (truth?.foreign.has(id) || hasClaim) && !dying.some((claim) => own.includes(claim));
  });
  if (dying.length === 0 || left.length >= quorumOf(voters.length)) return undefined;
  return `the data of ${dying.map(({ metadata }) => metadata.name).join(", ")} is lost, and ${left.length} of ${voters.length} voters have it`;
}

export const identityFollowsClaims: Invariant = {
  name: "identity follows claims",
  promise:
    "A cluster never bootstraps over the data of an earlier one: with claims of its name it takes their identity, or waits.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot) || !("identity" in event.step)) return undefined;
    const { clusterID } = event.step.identity;
    const kept = event.snapshot.claims.filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] === undefined);
    const other = kept.find(({ metadata }) => metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== clusterID);
    return other === undefined ? undefined : `${clusterID} would bootstrap over claim ${other.metadata.name}`;
  },
};

export const freeNamesFirst: Invariant = {
  name: "free names first",
  promise: "A cluster with a taken name creates no object, so that none is left behind.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot) || !("identity" in event.step)) return undefined;
    const { cluster, headlessService, clientService, budget, foreignPeers } = event.snapshot;
    const named = [headlessService, clientService, budget, ...foreignPeers].filter((object) => object !== undefined);
    const taken = named.find((object) => controllerOf(object)?.uid !== cluster.metadata.uid);
    return taken === undefined ? undefined : `${taken.kind} ${taken.metadata.name} belongs to another owner`;
  },
};

export const emptyClaims: Invariant = {
  name: "no empty claim",
  promise: "A fenced member never gets an empty claim in place of a lost one.",
  breaks(event, _world, memory) {
    const { is } = event;
    if (is !== "write" || event.actor !== "operator" || event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    if (event.verb !== "create") return undefined;
    const { name, annotations } = event.after?.metadata ?? {};
    const key = `${annotations?.[CLAIM_CLUSTER_ID_ANNOTATION]}/${annotations?.[CLAIM_MEMBER_ID_ANNOTATION]}`;
    return memory.fenced.has(key) ? `an empty claim is created for ${name}` : undefined;
  },
};

export const claimFirst: Invariant = {
  name: "claim first",
  promise: "No pod is created before the claim with this member's data exists.",
  breaks(event) {
    if (event.is !== "acts" || !("peer" in event.snapshot) || event.step.do !== "createReplicaSet") return undefined;
    const { claim, peer } = event.snapshot;
    const { [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID, [CLAIM_MEMBER_ID_ANNOTATION]: memberID } =
      claim?.metadata.annotations ?? {};
    const isOwn = clusterID === peer.spec.clusterID && memberID === peer.spec.memberID;
    if (clusterID !== undefined && memberID !== undefined && isOwn) return undefined;
    const whose = `a claim of ${clusterID ?? "unknown"}/${memberID ?? "unknown"}`;
    return `${peer.metadata.name} gets a pod over ${claim === undefined ? "no claim" : whose}`;
  },
};

/** Claims without a member at any time: a member that could not start may be given up while its replacement arrives. */
const MOST_UNPAID = 1;

export const noSurplusClaims: Invariant = {
  name: "no surplus claims",
  promise:
    "There are at most as many claims as members and losses: a claim that never held data is deleted with its member.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.verb !== "create") return undefined;
    if (event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    const clusterID = event.after?.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const cluster = world.etcd.truth.named(clusterID);
    if (cluster === undefined || cluster.members.size === 0) return undefined;
    // Claims of initial members with a volume are kept: such a member voted, or may have. Their number is limited.
    const first = world.api
      .list(ETCD_CLUSTERS)
      .flatMap(({ status }) => status?.identity?.initialMembers.map(({ id }) => id) ?? []);
    const known = new Set([...[...cluster.members.keys(), ...cluster.onceHadData].map((id) => hexOf(id)), ...first]);
    const unpaid = world.api
      .list(PERSISTENT_VOLUME_CLAIMS)
      .filter(
        ({ metadata }) =>
          metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === clusterID &&
          !known.has(metadata.annotations?.[CLAIM_MEMBER_ID_ANNOTATION] ?? "") &&
          metadata.deletionTimestamp === undefined,
      );
    return unpaid.length > MOST_UNPAID ? `${unpaid.length} claims have no member, and a new one is created` : undefined;
  },
};

/**
 * Whether only the finalizer of an EtcdRole or EtcdUser changes. It makes the operator clean up in etcd before the
 * object is deleted.
 */
function isHold({ resource, verb, before, after }: ApiWrite): boolean {
  if (verb !== "patch" || (resource !== ETCD_ROLES && resource !== ETCD_USERS)) return false;
  const rest = (object: KubeObject | undefined) =>
    object && { ...object, metadata: { ...object.metadata, finalizers: undefined, resourceVersion: undefined } };
  return after === undefined || isDeepStrictEqual(rest(before), rest(after));
}

export const foreignObjectsStay: Invariant = {
  name: "foreign objects stay",
  promise: "An object that another owner made or manages is never changed and never taken over.",
  breaks(event, _world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.before === undefined) return undefined;
    if (event.verb === "replaceStatus") return undefined;
    const { before, after } = event;
    if (isHold(event)) return undefined;
    // Kubernetes makes pods from the operator's ReplicaSets.
    if (event.resource === PODS && memory.made.has(controllerOf(before)?.uid ?? "")) return undefined;
    const [old, next] = [controllerOf(before)?.uid, after === undefined ? undefined : controllerOf(after)?.uid];
    if (memory.made.has(before.metadata.uid) && (after === undefined || old === next)) return undefined;
    return `${event.verb} of ${before.kind} ${before.metadata.name}, which is not the operator's`;
  },
};

export const leaderOnly: Invariant = {
  name: "leader only",
  promise: "Only the lease holder acts.",
  breaks(event) {
    if (event.is !== "write" || event.actor !== "operator" || event.isLeading) return undefined;
    return `${event.verb} of ${event.resource.kind} without the lease`;
  },
};

export const noWorkForDeletion: Invariant = {
  name: "no work for a deletion",
  promise: "Nothing is created for an object that is known to be terminating.",
  breaks(event) {
    if (event.is !== "acts") return undefined;
    const subject = "cluster" in event.snapshot ? event.snapshot.cluster : event.snapshot.peer;
    if (subject.metadata.deletionTimestamp === undefined || !/^create|^replace|^add/.test(event.step.do))
      return undefined;
    return `${event.step.do} for ${subject.metadata.name}, which is being deleted`;
  },
};

export const pauseStopsChanges: Invariant = {
  name: "pause stops changes",
  promise:
    "While a cluster is paused, as far as the caches know, only renewed certificates are written. No deletion of a pod, claim or EtcdPeer that is decided during a pause is carried out.",
  breaks(event, world, { pauses, deletionDecisions }) {
    if (event.is === "write") return deletedInPause(event, world, { pauses, deletionDecisions });
    if (event.is !== "acts") return undefined;
    const { snapshot, step } = event;
    const uid = uidOfDeleted(step);
    if (uid !== undefined) {
      const pause = pauses.get(clusterOf(snapshot, world)?.metadata.uid ?? "");
      deletionDecisions.set(uid, [...(deletionDecisions.get(uid) ?? []), { atMs: world.time.nowMs, pause }]);
    }
    const isPaused = "cluster" in snapshot ? pausedBy(snapshot.cluster) !== undefined : snapshot.pausedBy !== undefined;
    return isPaused && !isRenewal(step) ? `${event.step.do} while the cluster is paused` : undefined;
  },
};

/**
 * Whether the step only renews a working certificate: then no member restarts. Guard trusted-first requires that every
 * member trusts the CA.
 */
function isRenewal(step: ClusterStep | PeerStep): boolean {
  return step.do === "issueLeaf" && step.facts !== undefined && step.facts.trouble === undefined;
}

/**
 * Violation by a deletion during a pause, by the API server's content and not the cache. A call that was in transit
 * when the pause began is excused.
 */
function deletedInPause(
  { actor, verb, before }: WorldEvent & { is: "write" },
  world: World,
  { pauses, deletionDecisions }: Pick<Memory, "pauses" | "deletionDecisions">,
): string | undefined {
  if (actor !== "operator" || verb !== "delete" || before === undefined) return undefined;
  const decided = takeRecentDecisions(deletionDecisions, before.metadata.uid, world);
  const isOn = ({ pause }: { pause: string | undefined }) =>
    pause !== undefined && [...pauses.values()].includes(pause);
  return decided.length > 0 && decided.every(isOn)
    ? `${before.metadata.name} is deleted although its cluster is paused`
    : undefined;
}

function clusterOf(snapshot: ClusterSnapshot | PeerSnapshot, world: World): EtcdCluster | undefined {
  if ("cluster" in snapshot) return snapshot.cluster;
  const { metadata, spec } = snapshot.peer;
  return world.api.find(ETCD_CLUSTERS, { namespace: metadata.namespace, name: spec.clusterName });
}

/** Uid of the object that the step deletes. */
function uidOfDeleted(step: ClusterStep | PeerStep): string | undefined {
  if (step.do === "restartPod") return step.pod.metadata.uid;
  if (step.do === "deletePeer") return step.peer.metadata.uid;
  return step.do === "deleteClaim" ? step.claim.metadata.uid : undefined;
}
