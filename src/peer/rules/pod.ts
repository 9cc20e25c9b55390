import { draftText } from "#api/applied-hash.ts";
import { ETCD_CONTAINER, FENCE, INITIAL_CLUSTER_ANNOTATION, REVISION_ANNOTATION } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { recheckMs } from "#base/recheck.ts";
import { whyNotMeant } from "#etcd/not-meant.ts";
import { hexOf } from "#etcd/types.ts";
import { controllerText, type Draft, type ReplicaSet } from "#kube/kinds.ts";
import { startedMsAgo } from "#kube/pod.ts";
import { startAnnotations } from "#peer/desired/etcd-flags.ts";
import { replicaSet, replicaSetText } from "#peer/desired/replica-set.ts";
import { hasJoined, isInTrouble, isOwnClaim, isOwned, type PeerSnapshot, whyNotReady } from "#peer/snapshot.ts";
import type { PeerRule } from "#peer/step.ts";
import { step, wait } from "#runtime/decide.ts";

/**
 * Recheck in milliseconds. No event reports that a member is reachable again, and the status should not be wrong for
 * longer.
 */
const RECHECK = { firstMs: 2_000, maxMs: 10_000 };

/**
 * Probes the member again soon when its pod is ready but the probe failed, another member answered, or it has no leader
 * yet.
 */
export const awaitMember: PeerRule = {
  name: "await-member",
  decide(snapshot) {
    const because = whyNotServing(snapshot);
    if (because === undefined) return undefined;
    const { pod, takenAtMs } = snapshot;
    const againMs =
      pod === undefined ? RECHECK.firstMs : recheckMs(startedMsAgo(pod, ETCD_CONTAINER, takenAtMs), RECHECK);
    return wait(because, againMs);
  },
};

/** Why the member is not known to serve, as a clause; `undefined` when it serves. */
function whyNotServing({ endpoint, peer }: PeerSnapshot): string | undefined {
  if (endpoint?.is !== "present") return endpoint?.is === "unknown" ? endpoint.why : "it was not probed yet";
  const { clusterID, memberID } = peer.spec;
  const answer = endpoint.value;
  const stranger = whyNotMeant(answer, clusterID, memberID ?? hexOf(answer.memberId));
  if (stranger !== undefined) return stranger;
  // A member that was Ready stays Ready during an election. If the election lasts, readiness fails within seconds,
  // which triggers this controller.
  const wasReady = peer.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  return answer.leaderId === undefined && !wasReady ? "it has no leader" : undefined;
}

/**
 * Starts a member only after etcd has added it: otherwise it is refused and restarts with growing backoff. A peer
 * without a cluster ID was not created by an EtcdCluster and is not started: its means to bootstrap would never be
 * removed.
 */
export const awaitMembership: PeerRule = {
  name: "await-membership",
  decide({ peer }) {
    if (peer.spec.clusterID === undefined) {
      const because =
        "no EtcdCluster has created this EtcdPeer; create an EtcdCluster, which creates its EtcdPeers itself";
      return wait(because, 30_000, { warn: true });
    }
    if (peer.spec.bootstrap?.initialClusterState !== "Existing" || peer.spec.memberID !== undefined) return undefined;
    return wait("etcd has not added the member yet", 30_000);
  },
};

/**
 * Waits while a ReplicaSet of this name has another owner: it is never adopted. One of an earlier EtcdPeer of this name
 * is being deleted.
 */
export const replicaSetTaken: PeerRule = {
  name: "replica-set-taken",
  decide(snapshot) {
    const { replicaSet } = snapshot;
    if (replicaSet === undefined || isOwned(snapshot, replicaSet)) return undefined;
    const because = `ReplicaSet ${replicaSet.metadata.name} already exists: ${controllerText(replicaSet)}`;
    return wait(because, 2_000, { warn: true });
  },
};

/** Keeps the ReplicaSet's template up to date. It applies to the member's next pod; the running pod is not touched. */
export const replicaSetRule: PeerRule = {
  name: "replica-set",
  decide(snapshot) {
    const { claim, replicaSet: live } = snapshot;
    const isOtherClaim = claim !== undefined && !isOwnClaim(snapshot, claim);
    const { name } = snapshot.peer.metadata;
    if (live === undefined) {
      // The rules claim-lost and claim-disowned report it.
      if (claim === undefined || (isOtherClaim && hasJoined(snapshot))) return undefined;
      return step(`ReplicaSet ${name} keeps the member's pod running`, {
        do: "createReplicaSet",
        replicaSet: replicaSet(snapshot),
      });
    }
    // A member with another claim keeps its replicas: one that was stopped, by a user or by sleep, stays at 0. Its
    // template is fenced anyway.
    const replicas = snapshot.isAsleep ? 0 : isOtherClaim ? (live.spec?.replicas ?? 1) : 1;
    if (draftText(live) === replicaSetText(snapshot) && live.spec?.replicas === replicas) return undefined;
    const wanted = withReplicas(replicaSet(snapshot), replicas);
    if (snapshot.isAsleep && live.spec?.replicas !== 0) {
      const because = `the pod of ${name} stops: spec.replicas of its EtcdCluster is 0`;
      return step(because, { do: "replaceReplicaSet", live, replicaSet: wanted });
    }
    const why = hasJoined(snapshot) ? "can restart the member but never bootstrap it" : "match the EtcdPeer";
    return step(`the next pods of ${name} ${why}`, {
      do: "replaceReplicaSet",
      live,
      replicaSet: wanted,
    });
  },
};

function withReplicas(draft: Draft<ReplicaSet>, replicas: number): Draft<ReplicaSet> {
  return { ...draft, spec: { ...draft.spec, selector: draft.spec?.selector ?? {}, replicas } };
}

/**
 * Fences the running pod too: its container may restart on a volume that was emptied, with the pod's annotations of
 * that time. The running process is not affected.
 */
export const fencePod: PeerRule = {
  name: "fence-pod",
  decide(snapshot) {
    const { pod } = snapshot;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !hasJoined(snapshot)) return undefined;
    if (pod.metadata.annotations?.[INITIAL_CLUSTER_ANNOTATION] === FENCE) return undefined;
    const because = `the next start of the container in ${pod.metadata.name} must not bootstrap`;
    return step(because, { do: "annotatePod", pod, annotations: startAnnotations(snapshot) });
  },
};

/**
 * Annotates a pod with the revision of its EtcdPeer when another client has removed the annotation. While the EtcdPeer
 * has a previous template, the pod may run either one: its revision stays unknown until the pod is deleted.
 */
export const noteRevision: PeerRule = {
  name: "note-revision",
  decide({ peer, pod }) {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    if (pod.metadata.annotations?.[REVISION_ANNOTATION] !== undefined || peer.spec.previous !== undefined)
      return undefined;
    const because = `${pod.metadata.name} has no revision annotation yet`;
    const annotations = { [REVISION_ANNOTATION]: revisionOf(peer.spec) };
    return step(because, { do: "annotatePod", pod, annotations });
  },
};

/** Recheck in milliseconds, for a lost event and for a problem that lasts: normally pod events trigger the peer. */
const RECHECK_MS = 10_000;

/** Waits for Kubernetes to start the pod, reports why it is not ready, and warns when the start is stuck. */
export const awaitPod: PeerRule = {
  name: "await-pod",
  decide(snapshot) {
    const why = whyNotReady(snapshot);
    return why === undefined ? undefined : wait(why, RECHECK_MS, { warn: isInTrouble(snapshot) });
  },
};
