import { isDeepStrictEqual } from "node:util";
import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
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
import { hexOf } from "#etcd/types.ts";
import type { World, WorldEvent } from "#kit/world.ts";
import type { ApiWrite } from "#kit/world-api.ts";
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
    "A claim is changed (but for its labels, which it gets back, and for how its member is reached) or deleted only when etcd lists its member no more, and deleted only because someone asked for fewer, or because it never held data.",
  breaks(event, world, memory) {
    const { is } = event;
    if (is !== "write" || event.actor !== "operator" || event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    if (event.before === undefined || hasGotLabelsBack(event.before, event.after)) return undefined;
    const { name, annotations } = event.before.metadata;
    const clusterID = annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const memberID = annotations?.[CLAIM_MEMBER_ID_ANNOTATION];
    const { members } = world.etcd.truth.named(clusterID) ?? { members: new Map() };
    if ([...members.keys()].some((id) => hexOf(id) === memberID)) return `${event.verb} of the claim of member ${name}`;
    if (event.verb !== "delete" && event.verb !== "remove") return undefined;
    const onceHadData = world.etcd.truth.named(clusterID)?.onceHadData ?? new Set();
    const hadNoVolume = (event.before as PersistentVolumeClaim).spec?.volumeName === undefined;
    const isEmpty = hadNoVolume || ![...onceHadData].some((id) => hexOf(id) === memberID);
    return memory.toGo.has(`${clusterID}/${memberID}`) || isEmpty
      ? undefined
      : `nobody asked for the data of ${name} to be deleted`;
  },
};

/** Nothing but labels, and by which scheme its member is reached, has changed, and it is not put aside. */
function hasGotLabelsBack(before: KubeObject, after: KubeObject | undefined): boolean {
  if (after?.metadata.deletionTimestamp !== before.metadata.deletionTimestamp) return false;
  if (after === undefined || after.metadata.labels?.[QUARANTINE_LABEL] !== undefined) return false;
  return isDeepStrictEqual(withoutScheme(after), withoutScheme(before));
}

function withoutScheme({ metadata }: KubeObject): object {
  const { [PEER_SCHEME_ANNOTATION]: _, ...rest } = metadata.annotations ?? {};
  return rest;
}

/** So long after it was decided a write may come, in milliseconds: its pass, and a while on its way when nobody waits for it any more. */
const LATEST_MS = 60_000;

export const dyingClaimsAreHeld: Invariant = {
  name: "dying claims",
  promise:
    "No pod is stopped, for a restart or for sleep, with which a claim goes that somebody had deleted when that was decided, where the others that have data are no quorum.",
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
    const decided = takenLately(doomed, before.metadata.uid, world);
    return decided.some(({ loss }) => loss === undefined) ? undefined : decided.at(-1)?.loss;
  },
};

/** What was decided about this object not too long ago for its write to come now; it is written now, and so decided about anew later. */
function takenLately<Decided extends { readonly atMs: number }>(
  all: Map<string, Decided[]>,
  uid: string,
  { time }: World,
): readonly Decided[] {
  const decided = all.get(uid) ?? [];
  all.delete(uid);
  return decided.filter(({ atMs }) => time.nowMs - atMs <= LATEST_MS);
}

/**
 * What goes when this member is stopped, or all are where none is named, by what the API server has; undefined: nothing that nobody else has. That a volume was emptied nobody
 * is told before its member starts; what a person runs is theirs.
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
  return `the data of ${dying.map(({ metadata }) => metadata.name).join(", ")} goes, and ${left.length} of ${voters.length} have it`;
}

export const claimsTell: Invariant = {
  name: "claims tell",
  promise:
    "A cluster never starts over the data of an earlier one: with claims of its name it comes back as who it was, or waits.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot) || !("identity" in event.step)) return undefined;
    const { clusterID } = event.step.identity;
    const kept = event.snapshot.claims.filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] === undefined);
    const other = kept.find(({ metadata }) => metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] !== clusterID);
    return other === undefined ? undefined : `${clusterID} is to be started over claim ${other.metadata.name}`;
  },
};

export const namesFirst: Invariant = {
  name: "names first",
  promise: "A cluster whose names are taken is not begun: nothing half-done stays behind.",
  breaks(event) {
    if (event.is !== "acts" || !("cluster" in event.snapshot) || !("identity" in event.step)) return undefined;
    const { cluster, headlessService, clientService, budget, foreignPeers } = event.snapshot;
    const named = [headlessService, clientService, budget, ...foreignPeers].filter((object) => object !== undefined);
    const taken = named.find((object) => controllerOf(object)?.uid !== cluster.metadata.uid);
    return taken === undefined ? undefined : `${taken.kind} ${taken.metadata.name} is somebody else's`;
  },
};

export const emptyClaims: Invariant = {
  name: "no empty claim",
  promise: "A member that is fenced never gets an empty claim in place of the one that it lost.",
  breaks(event, _world, memory) {
    const { is } = event;
    if (is !== "write" || event.actor !== "operator" || event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    if (event.verb !== "create") return undefined;
    const { name, annotations } = event.after?.metadata ?? {};
    const key = `${annotations?.[CLAIM_CLUSTER_ID_ANNOTATION]}/${annotations?.[CLAIM_MEMBER_ID_ANNOTATION]}`;
    return memory.fenced.has(key) ? `an empty claim is made for ${name}` : undefined;
  },
};

export const claimFirst: Invariant = {
  name: "claim first",
  promise: "No pod is asked for before the claim that holds this very member's data is there.",
  breaks(event) {
    if (event.is !== "acts" || !("peer" in event.snapshot) || event.step.do !== "createReplicaSet") return undefined;
    const { claim, peer } = event.snapshot;
    const { [CLAIM_CLUSTER_ID_ANNOTATION]: clusterID, [CLAIM_MEMBER_ID_ANNOTATION]: memberID } =
      claim?.metadata.annotations ?? {};
    const isOwn = clusterID === peer.spec.clusterID && memberID === peer.spec.memberID;
    if (clusterID !== undefined && memberID !== undefined && isOwn) return undefined;
    const whose = `a claim of ${clusterID ?? "somebody"}/${memberID ?? "somebody"}`;
    return `${peer.metadata.name} gets a pod over ${claim === undefined ? "no claim" : whose}`;
  },
};

/** One that could not start may be given up while the next one is on its way. */
const MOST_UNPAID = 1;

export const claimsArePaidFor: Invariant = {
  name: "claims are paid for",
  promise:
    "There are no more claims than members and losses: one that never held data is not kept for a member that is gone.",
  breaks(event, world) {
    if (event.is !== "write" || event.actor !== "operator" || event.verb !== "create") return undefined;
    if (event.resource !== PERSISTENT_VOLUME_CLAIMS) return undefined;
    const clusterID = event.after?.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const cluster = world.etcd.truth.named(clusterID);
    if (cluster === undefined || cluster.members.size === 0) return undefined;
    // Of first members a claim that has a volume is kept in any case: they voted, or might have. There are only so many of them.
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
    return unpaid.length > MOST_UNPAID ? `${unpaid.length} claims of nobody, and one more is made` : undefined;
  },
};

/** A finalizer comes to an EtcdRole or EtcdUser, or goes: what they have made in etcd is to go with them. */
function isHold({ resource, verb, before, after }: ApiWrite): boolean {
  if (verb !== "patch" || (resource !== ETCD_ROLES && resource !== ETCD_USERS)) return false;
  const rest = (object: KubeObject | undefined) =>
    object && { ...object, metadata: { ...object.metadata, finalizers: undefined, resourceVersion: undefined } };
  return after === undefined || isDeepStrictEqual(rest(before), rest(after));
}

export const foreignStays: Invariant = {
  name: "foreign stays",
  promise: "What somebody else made or manages is never changed and never taken over.",
  breaks(event, _world, memory) {
    if (event.is !== "write" || event.actor !== "operator" || event.before === undefined) return undefined;
    if (event.verb === "replaceStatus") return undefined;
    const { before, after } = event;
    if (isHold(event)) return undefined;
    // Pods are made by Kubernetes, from ReplicaSets that are the operator's.
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

export const goingIsLeft: Invariant = {
  name: "going is left to go",
  promise: "Nothing is made for an object that is seen to be on its way out.",
  breaks(event) {
    if (event.is !== "acts") return undefined;
    const subject = "cluster" in event.snapshot ? event.snapshot.cluster : event.snapshot.peer;
    if (subject.metadata.deletionTimestamp === undefined || !/^create|^replace|^add/.test(event.step.do))
      return undefined;
    return `${event.step.do} for ${subject.metadata.name}, which is being deleted`;
  },
};

export const pausedIsLeft: Invariant = {
  name: "paused is left alone",
  promise:
    "Nothing is changed while a person has paused the cluster, as far as the caches know; and no pod, claim or EtcdPeer goes that was paused for when that was decided.",
  breaks(event, world, { pauses, goingInPause }) {
    if (event.is === "write") return goneInPause(event, world, { pauses, goingInPause });
    if (event.is !== "acts") return undefined;
    const { snapshot, step } = event;
    const uid = uidOfGoing(step);
    if (uid !== undefined) {
      const pause = pauses.get(clusterOf(snapshot, world)?.metadata.uid ?? "");
      goingInPause.set(uid, [...(goingInPause.get(uid) ?? []), { atMs: world.time.nowMs, pause }]);
    }
    const isPaused = "cluster" in snapshot ? pausedBy(snapshot.cluster) !== undefined : snapshot.pausedBy !== undefined;
    return isPaused ? `${event.step.do} while the cluster is paused` : undefined;
  },
};

/** By what the API server has, not by the cache that decided; a call that was on its way already when the pause began is not blamed. */
function goneInPause(
  { actor, verb, before }: WorldEvent & { is: "write" },
  world: World,
  { pauses, goingInPause }: Pick<Memory, "pauses" | "goingInPause">,
): string | undefined {
  if (actor !== "operator" || verb !== "delete" || before === undefined) return undefined;
  const decided = takenLately(goingInPause, before.metadata.uid, world);
  const isOn = ({ pause }: { pause: string | undefined }) =>
    pause !== undefined && [...pauses.values()].includes(pause);
  return decided.length > 0 && decided.every(isOn)
    ? `${before.metadata.name} goes although its cluster is paused`
    : undefined;
}

function clusterOf(snapshot: ClusterSnapshot | PeerSnapshot, world: World): EtcdCluster | undefined {
  if ("cluster" in snapshot) return snapshot.cluster;
  const { metadata, spec } = snapshot.peer;
  return world.api.find(ETCD_CLUSTERS, { namespace: metadata.namespace, name: spec.clusterName });
}

/** Uid of what goes by this step. */
function uidOfGoing(step: ClusterStep | PeerStep): string | undefined {
  if (step.do === "restartPod") return step.pod.metadata.uid;
  if (step.do === "deletePeer") return step.peer.metadata.uid;
  return step.do === "deleteClaim" ? step.claim.metadata.uid : undefined;
}
