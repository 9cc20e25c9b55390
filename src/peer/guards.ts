import {
  CLEANUP_FINALIZER,
  FENCE,
  INITIAL_CLUSTER_ANNOTATION,
  isClaimGoing,
  placeOfToken,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { secretsShownBy } from "#peer/shown-secrets.ts";
import { hasJoined, isOwnClaim, isOwned } from "#peer/snapshot.ts";
import type { PeerGuard, PeerStep } from "#peer/step.ts";

/**
 * The effect of each kind of step on the member's claim and on its pods. The guards use these traits instead of lists
 * of kinds, and a new kind without an entry does not compile.
 */
const TRAITS = {
  createClaim: { claim: "made", pods: "kept" },
  deleteClaim: { claim: "deleted", pods: "kept" },
  quarantineClaim: { claim: "marked", pods: "kept" },
  labelClaim: { claim: "marked", pods: "kept" },
  annotateClaim: { claim: "marked", pods: "kept" },
  releasePeer: { claim: "kept", pods: "kept" },
  annotatePod: { claim: "kept", pods: "annotated" },
  createReplicaSet: { claim: "kept", pods: "made" },
  replaceReplicaSet: { claim: "kept", pods: "made" },
} as const satisfies Record<PeerStep["do"], { claim: string; pods: string }>;

type Traits = (typeof TRAITS)[PeerStep["do"]];

/** The steps of the kinds with this trait. */
type StepWith<Trait extends keyof Traits, Value> = {
  [Kind in PeerStep["do"]]: (typeof TRAITS)[Kind][Trait] extends Value ? Extract<PeerStep, { do: Kind }> : never;
}[PeerStep["do"]];

function has<Trait extends keyof Traits, const Value extends Traits[Trait]>(
  step: PeerStep,
  trait: Trait,
  value: Value,
): step is StepWith<Trait, Value> {
  return TRAITS[step.do][trait] === value;
}

/** Creates a ReplicaSet only when the claim exists and holds this member's data. */
export const claimFirst: PeerGuard = {
  name: "claim-first",
  forbids(snapshot, step) {
    if (step.do !== "createReplicaSet") return undefined;
    if (snapshot.claim === undefined) return "its claim does not exist";
    return isOwnClaim(snapshot, snapshot.claim) ? undefined : "its claim holds the data of another cluster";
  },
};

/**
 * Starts nothing for an EtcdPeer that was copied from another namespace or EtcdCluster: its member would join the
 * original cluster. The cluster token contains the namespace and name for which the EtcdPeer was created.
 */
const tokenIsHere: PeerGuard = {
  name: "token-is-here",
  forbids({ peer }, step) {
    if (step.do !== "createClaim" && step.do !== "createReplicaSet" && step.do !== "replaceReplicaSet")
      return undefined;
    const { clusterName, clusterToken } = peer.spec;
    if (clusterToken === undefined) return undefined;
    const place = placeOfToken(clusterToken);
    if (place?.namespace === peer.metadata.namespace && place.name === clusterName) return undefined;
    return `the EtcdPeer was copied from another namespace or EtcdCluster: spec.clusterToken is ${clusterToken}; delete the EtcdPeer`;
  },
};

/**
 * Gives a member that has joined neither flags that permit a bootstrap nor an empty claim on which it could bootstrap.
 */
const neverTwice: PeerGuard = {
  name: "never-twice",
  forbids(snapshot, step) {
    if (!hasJoined(snapshot)) return undefined;
    if (has(step, "claim", "made")) return "the member has joined: an empty volume is not its data";
    if (has(step, "pods", "kept")) return undefined;
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
 * Deletes only a claim of this member, and only for a peer that is being deleted and has a removal reason. The
 * finalizer alone is not enough, because it may outlive its reason. The cluster's guard of the same name decides when a
 * peer gets that reason.
 */
const askedToDelete: PeerGuard = {
  name: "asked-to-delete",
  forbids(snapshot, step) {
    if (!has(step, "claim", "deleted")) return undefined;
    const { deletionTimestamp, finalizers, annotations } = snapshot.peer.metadata;
    const isReason = isClaimGoing(annotations?.[REMOVAL_ANNOTATION]);
    if (deletionTimestamp === undefined || !finalizers?.includes(CLEANUP_FINALIZER) || !isReason)
      return "no removal of the member asks to delete its data";
    return isOwnClaim(snapshot, step.claim) ? undefined : "the claim holds the data of another member";
  },
};

/** Stops a member only when its cluster sleeps. A stopped member may stay stopped. */
const stopIsAsked: PeerGuard = {
  name: "stop-is-asked",
  forbids({ isAsleep }, step) {
    if (!has(step, "pods", "made")) return undefined;
    if (step.replicaSet.spec?.replicas !== 0 || isAsleep) return undefined;
    const isStopped = step.do === "replaceReplicaSet" && step.live.spec?.replicas === 0;
    return isStopped ? undefined : "its cluster does not sleep";
  },
};

/** Changes neither an object with another owner nor a claim with another member's data. */
const ownOnly: PeerGuard = {
  name: "own-only",
  forbids(snapshot, step) {
    if (has(step, "claim", "marked") && !isOwnClaim(snapshot, step.claim))
      return "the claim holds the data of another member";
    if (!("live" in step) || isOwned(snapshot, step.live)) return undefined;
    return `ReplicaSet ${step.live.metadata.name} is not this peer's`;
  },
};

/**
 * Lets a pod mount only Secrets that the EtcdCluster requests or has in its status, or that the current pod or template
 * mounts. A Secret filled by a user is in the status only if its label permits the use.
 */
const knownSecrets: PeerGuard = {
  name: "known-secrets",
  forbids({ shownSecrets, pod }, step) {
    if (!has(step, "pods", "made")) return undefined;
    const before = step.do === "replaceReplicaSet" ? secretsShownBy(step.live.spec?.template ?? {}) : [];
    const known = [...shownSecrets, ...before, ...(pod === undefined ? [] : secretsShownBy(pod))];
    const other = secretsShownBy(step.replicaSet.spec?.template ?? {}).find((name) => !known.includes(name));
    if (other === undefined) return undefined;
    return `Secret ${other} is neither asked for by the EtcdCluster nor in its status`;
  },
};

/** The invariants of a member's objects. Each guard may reject a step of any rule. */
export const PEER_GUARDS: readonly PeerGuard[] = [
  tokenIsHere,
  claimFirst,
  neverTwice,
  stopIsAsked,
  askedToDelete,
  knownSecrets,
  ownOnly,
];
