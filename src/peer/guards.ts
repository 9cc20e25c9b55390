import { CLEANUP_FINALIZER, FENCE, INITIAL_CLUSTER_ANNOTATION, isClaimGoing, REMOVAL_ANNOTATION } from "#api/names.ts";
import { secretsShownBy } from "#peer/shown-secrets.ts";
import { hasJoined, isOwnClaim, isOwned } from "#peer/snapshot.ts";
import type { PeerGuard } from "#peer/step.ts";

/** No pod is asked for before the claim that holds, or will hold, this very member's data. */
export const claimFirst: PeerGuard = {
  name: "claim-first",
  forbids(snapshot, step) {
    if (step.do !== "createReplicaSet") return undefined;
    if (snapshot.claim === undefined) return "its claim is not there";
    return isOwnClaim(snapshot, snapshot.claim) ? undefined : "its claim holds the data of another cluster";
  },
};

/** A member that has joined gets no flags that could bootstrap it, and no empty claim to bootstrap on. */
const neverTwice: PeerGuard = {
  name: "never-twice",
  forbids(snapshot, step) {
    if (!hasJoined(snapshot)) return undefined;
    if (step.do === "createClaim") return "the member has joined: an empty volume is not its data";
    if (step.do !== "createReplicaSet" && step.do !== "replaceReplicaSet" && step.do !== "annotatePod")
      return undefined;
    const annotations =
      step.do === "annotatePod"
        ? { ...step.pod.metadata.annotations, ...step.annotations }
        : step.replicaSet.spec?.template?.metadata?.annotations;
    return annotations?.[INITIAL_CLUSTER_ANNOTATION] === FENCE
      ? undefined
      : "the member has joined: its pods must not be able to bootstrap";
  },
};

/**
 * A claim is deleted only if it is this member's own, and only with a peer that is being deleted and says why. The finalizer alone
 * is not enough: it may have outlived its reason. When a peer may give that reason, the cluster's guard of the same name says.
 */
const askedToDelete: PeerGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (step.do !== "deleteClaim") return undefined;
    const { deletionTimestamp, finalizers, annotations } = snapshot.peer.metadata;
    const isReason = isClaimGoing(annotations?.[REMOVAL_ANNOTATION]);
    if (deletionTimestamp === undefined || !finalizers?.includes(CLEANUP_FINALIZER) || !isReason)
      return "nobody asked for the data to be deleted";
    return isOwnClaim(snapshot, step.claim) ? undefined : "the claim holds the data of another member";
  },
};

/** No member is stopped but with its cluster, which sleeps; who has no pod already may stay so. */
const stopIsAsked: PeerGuard = {
  name: "stop-is-asked",
  forbids({ isAsleep }, step) {
    if (step.do !== "createReplicaSet" && step.do !== "replaceReplicaSet") return undefined;
    if (step.replicaSet.spec?.replicas !== 0 || isAsleep) return undefined;
    const isStopped = step.do === "replaceReplicaSet" && step.live.spec?.replicas === 0;
    return isStopped ? undefined : "its cluster does not sleep";
  },
};

/** What another owner manages is never changed. */
const ownOnly: PeerGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (!("live" in step) || isOwned(snapshot, step.live)) return undefined;
    return `ReplicaSet ${step.live.metadata.name} is not this peer's`;
  },
};

/**
 * No pod is to show another Secret than its EtcdCluster asks for, or has on record as in use; one that it shows already stays. What somebody else
 * fills has to be on record there: then it says that it may be shown.
 */
const knownSecrets: PeerGuard = {
  name: "known-secrets",
  forbids({ shownSecrets, pod }, step) {
    if (step.do !== "createReplicaSet" && step.do !== "replaceReplicaSet") return undefined;
    const before = step.do === "replaceReplicaSet" ? secretsShownBy(step.live.spec?.template ?? {}) : [];
    const known = [...shownSecrets, ...before, ...(pod === undefined ? [] : secretsShownBy(pod))];
    const other = secretsShownBy(step.replicaSet.spec?.template ?? {}).find((name) => !known.includes(name));
    if (other === undefined) return undefined;
    return `Secret ${other} is none that its EtcdCluster is known to have members show`;
  },
};

/** These are the invariants of a member's objects. Each may hold back a step of any rule. */
export const PEER_GUARDS: readonly PeerGuard[] = [
  claimFirst,
  neverTwice,
  stopIsAsked,
  askedToDelete,
  knownSecrets,
  ownOnly,
];
