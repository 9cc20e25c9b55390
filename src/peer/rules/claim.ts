import {
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLAIM_MEMBER_ID_ANNOTATION,
  CLAIM_RELEASE_ANNOTATION,
  CLEANUP_FINALIZER,
  claimLabels,
  isClaimGoing,
  PEER_SCHEME_ANNOTATION,
  QUARANTINE_FINALIZER,
  QUARANTINE_LABEL,
  REMOVAL_ANNOTATION,
} from "#api/names.ts";
import { reachedBy } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { isRelease } from "#etcd/version.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";
import { hasJoined, isOwnClaim, type PeerSnapshot } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step, wait } from "#runtime/decide.ts";

/**
 * Deletes or quarantines the claim of a deleted peer, as its finalizer requests, and then removes the finalizer.
 * Without a finalizer the claim is not touched.
 */
export const releaseClaim: PeerRule = {
  name: "release-claim",
  decide(snapshot) {
    const { peer, claim } = snapshot;
    const finalizer = [CLEANUP_FINALIZER, QUARANTINE_FINALIZER].find((known) =>
      peer.metadata.finalizers?.includes(known),
    );
    if (peer.metadata.deletionTimestamp === undefined || finalizer === undefined) return undefined;
    const own = claim !== undefined && isOwnClaim(snapshot, claim) ? claim : undefined;
    const { name } = peer.metadata;
    const removal = peer.metadata.annotations?.[REMOVAL_ANNOTATION];
    // A claim that a user has quarantined is deleted only by a user.
    const isPutAside = own?.metadata.labels?.[QUARANTINE_LABEL] !== undefined;
    const isGoing = finalizer === CLEANUP_FINALIZER && isClaimGoing(removal) && !isPutAside;
    if (isGoing && own !== undefined && own.metadata.deletionTimestamp === undefined) {
      return step(`${name} was removed (${removal}): its claim is deleted`, {
        do: "deleteClaim",
        claim: own,
      });
    }
    if (
      finalizer === QUARANTINE_FINALIZER &&
      own !== undefined &&
      own.metadata.labels?.[QUARANTINE_LABEL] === undefined
    ) {
      const reason = `${name} is no longer a member of cluster ${peer.spec.clusterID}`;
      return step(`${reason}: its claim is quarantined`, {
        do: "quarantineClaim",
        claim: own,
        reason,
        at: rfc3339(snapshot.takenAtMs),
      });
    }
    return step(`nothing is left to do for the claim of ${name}`, { do: "releasePeer", finalizer });
  },
};

/** Refuses to start a member on a claim with data of another cluster. */
export const claimsUnclear: PeerRule = {
  name: "claims-unclear",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim) || hasJoined(snapshot)) return undefined;
    const clusterID = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION];
    const origin = clusterID === undefined ? "of unknown origin" : `of cluster ${clusterID}`;
    const because = `claim ${claim.metadata.name} holds data ${origin}, not of cluster ${peer.spec.clusterID}; delete it if that data is not needed`;
    return wait(because, 10_000, { warn: true });
  },
};

/**
 * Records on the claim whether the member is reached by http or https. A member recovered from the claim is then
 * reached in the same way.
 */
export const annotateClaim: PeerRule = {
  name: "annotate-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const scheme = reachedBy(peer.spec);
    const recorded = claim.metadata.annotations?.[PEER_SCHEME_ANNOTATION] === "https" ? "https" : "http";
    if (recorded === scheme) return undefined;
    const because = `${peer.metadata.name} is reached by ${scheme}, and its claim records ${recorded}`;
    return step(because, {
      do: "annotateClaim",
      claim,
      annotations: { [PEER_SCHEME_ANNOTATION]: scheme === "https" ? scheme : null },
    });
  },
};

/**
 * Restores the labels of the claim: without them a recreated EtcdCluster does not find it, and label selectors miss it.
 */
export const labelClaim: PeerRule = {
  name: "label-claim",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    const labels = claimLabels(peer.spec.clusterName, peer.metadata.name);
    const isWhole = Object.entries(labels).every(([key, value]) => claim.metadata.labels?.[key] === value);
    if (isWhole) return undefined;
    const because = `the labels of claim ${claim.metadata.name} were changed`;
    return step(because, { do: "labelClaim", claim, labels });
  },
};

/**
 * Creates the claim before the pod that uses it. A joined member gets none: an empty claim must not be taken for the
 * lost one.
 */
export const createClaim: PeerRule = {
  name: "create-claim",
  decide(snapshot) {
    if (snapshot.claim !== undefined || hasJoined(snapshot)) return undefined;
    // A user may restore a claim that was lost during the sleep until the cluster wakes.
    if (snapshot.isAsleep) return undefined;
    return step(`${snapshot.peer.metadata.name} keeps its data on a claim of its own name`, {
      do: "createClaim",
      claim: volumeClaim(snapshot),
    });
  },
};

/**
 * Records on the claim the etcd release that last served its data. A recreated EtcdCluster starts the member with that
 * release.
 */
export const recordRelease: PeerRule = {
  name: "record-release",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    const release = answeredRelease(snapshot);
    if (claim === undefined || release === undefined || !isOwnClaim(snapshot, claim)) return undefined;
    if (claim.metadata.annotations?.[CLAIM_RELEASE_ANNOTATION] === release) return undefined;
    return step(`${peer.metadata.name} runs etcd ${release}`, {
      do: "annotateClaim",
      claim,
      annotations: { [CLAIM_RELEASE_ANNOTATION]: release },
    });
  },
};

/** The release that this member answered with; `undefined` for a custom build that is not a release. */
function answeredRelease({ endpoint, peer }: PeerSnapshot): string | undefined {
  const { clusterID, memberID } = peer.spec;
  if (endpoint?.is !== "present" || memberID === undefined) return undefined;
  const { version } = endpoint.value;
  return whyNotMeant(endpoint.value, clusterID, memberID) === undefined && isRelease(version) ? version : undefined;
}

/**
 * Warns when the claim of a joined member has no or other identity annotations: the claim was replaced, or a user has
 * changed it. Only a user knows what data it holds.
 */
export const claimDisowned: PeerRule = {
  name: "claim-disowned",
  decide(snapshot) {
    const { claim, peer } = snapshot;
    if (claim === undefined || isOwnClaim(snapshot, claim) || !hasJoined(snapshot)) return undefined;
    const isSilent = claim.metadata.annotations?.[CLAIM_CLUSTER_ID_ANNOTATION] === undefined;
    const says = isSilent ? "is no longer annotated" : "is annotated otherwise than";
    const because = `claim ${claim.metadata.name} ${says} that it holds the data of cluster ${peer.spec.clusterID}, member ${peer.spec.memberID}; set its annotations ${CLAIM_CLUSTER_ID_ANNOTATION} and ${CLAIM_MEMBER_ID_ANNOTATION} back if it does`;
    return wait(because, 10_000, { warn: true });
  },
};

/**
 * Reports a joined member without a claim: its data is lost. A new, empty claim would not restore it, so none is
 * created.
 */
export const claimLost: PeerRule = {
  name: "claim-lost",
  decide(snapshot) {
    if (snapshot.claim !== undefined || !hasJoined(snapshot)) return undefined;
    const because = `the claim of ${snapshot.peer.metadata.name} does not exist, so the member's data is lost; the member must be replaced`;
    return wait(because, 30_000, { warn: true });
  },
};
