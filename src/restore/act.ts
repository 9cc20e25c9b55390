import { CLAIMS_FINALIZER } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES, type EtcdRestore } from "#api/v1beta1/restore.ts";
import type { KubeClient } from "#kube/client.ts";
import { JOBS, PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { liveAt, liveOf } from "#kube/live.ts";
import { notSeenYet, outOfDate } from "#kube/out-of-date.ts";
import {
  isGivenUp,
  isHandedOver,
  isOurs,
  isTaken,
  type RestoredMember,
  type RestoreSnapshot,
} from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";
import type { Written } from "#runtime/controller.ts";
import { deleteClaim, deleteJob, deletePod, patchFinalizers, patchMetadata, stored } from "#runtime/writes.ts";

/** Kubernetes calls with which this controller writes. */
export type RestoreWrites = Pick<KubeClient, "get" | "create" | "replace" | "patch" | "delete">;

/** Executes one step: exactly one write, with its precondition. */
export async function actOnRestore(
  kube: RestoreWrites,
  step: RestoreStep,
  snapshot: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  const { restore } = snapshot;
  const finalizers = restore.metadata.finalizers ?? [];
  switch (step.do) {
    case "holdRestore":
      return await patchFinalizers(kube, ETCD_RESTORES, restore, [...finalizers, CLAIMS_FINALIZER], signal);
    case "releaseRestore":
      return await releaseRestore(kube, snapshot, finalizers, signal);
    case "createClaim":
      await needRestore(kube, snapshot, signal);
      // POST instead of apply: a claim that has appeared since the observation holds data and must not be changed.
      return stored(PERSISTENT_VOLUME_CLAIMS, await kube.create(PERSISTENT_VOLUME_CLAIMS, step.claim, { signal }));
    case "createJob":
      await needRestore(kube, snapshot, signal);
      await needNoCluster(kube, snapshot, signal);
      return stored(JOBS, await kube.create(JOBS, step.job, { signal }));
    case "deleteJob":
      return await deleteJob(kube, step.job, signal);
    case "deletePod":
      return await deletePod(kube, step.pod, signal);
    case "identifyClaim":
      await needUntaken(kube, snapshot, signal);
      return await patchMetadata(kube, PERSISTENT_VOLUME_CLAIMS, step.claim, { annotations: step.annotations }, signal);
    case "deleteClaim":
      await needGivenUp(kube, snapshot, signal);
      return await deleteClaim(kube, step.claim, signal);
    case "createCluster":
      await needRestore(kube, snapshot, signal);
      await needClaims(kube, snapshot, signal);
      return stored(ETCD_CLUSTERS, await kube.create(ETCD_CLUSTERS, step.cluster, { signal }));
  }
}

/**
 * Refuses a create for an EtcdRestore that is gone: nothing would clean up the new object. A create has no precondition
 * that detects a stale cache, so this asks the API server.
 */
async function needRestore(kube: RestoreWrites, { restore }: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveOf(kube, ETCD_RESTORES, restore, signal);
  if (live !== undefined && live.metadata.deletionTimestamp === undefined) return;
  throw outOfDate(ETCD_RESTORES, restore.metadata, `EtcdRestore ${restore.metadata.name} is gone`);
}

/** Refuses when the API server has a cluster that the cache does not show yet: it may be taking the claim. */
async function needNoCluster(
  kube: RestoreWrites,
  { restore, cluster }: RestoreSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const live = await liveCluster(kube, restore, signal);
  if (live === undefined) return;
  if (live.metadata.uid === cluster?.metadata.uid && live.status?.identity === undefined) return;
  throw notSeenYet(`EtcdCluster ${live.metadata.name} exists and the cache does not show it yet`);
}

/**
 * Refuses to annotate claims that a cluster has taken: from then on the cluster annotates them. The cache may not show
 * this yet.
 */
async function needUntaken(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveCluster(kube, snapshot.restore, signal);
  if (live !== undefined && isTaken({ ...snapshot, cluster: live }))
    throw notSeenYet(`EtcdCluster ${live.metadata.name} has taken the claims`);
}

/**
 * Refuses to create a cluster from claims that are gone: it would wait for them without a reason that a user could see.
 */
async function needClaims(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveMembers(kube, snapshot, signal);
  for (const { name, claim } of snapshot.members) {
    const there = live.find((member) => member.name === name)?.claim;
    if (there?.metadata.uid === claim?.metadata.uid && isHandedOver(snapshot, there)) continue;
    if (claim === undefined) throw notSeenYet(`claim ${name} has changed since it was observed`);
    throw outOfDate(PERSISTENT_VOLUME_CLAIMS, claim.metadata, `claim ${name} is gone or is being deleted`);
  }
}

/**
 * Refuses to delete a claim unless the restore is given up. That depends on all claims, the cluster and the status: a
 * change to one of them causes no conflict on another.
 */
async function needGivenUp(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const { restore } = snapshot;
  const live = await liveOf(kube, ETCD_RESTORES, restore, signal);
  if (live === undefined)
    throw outOfDate(ETCD_RESTORES, restore.metadata, `EtcdRestore ${restore.metadata.name} is gone`);
  const cluster = await liveCluster(kube, restore, signal);
  const members = await liveMembers(kube, snapshot, signal);
  if (!isGivenUp({ ...snapshot, restore: live, cluster, members }))
    throw notSeenYet("the claims are complete, or the restore was not given up");
}

async function liveMembers(
  kube: RestoreWrites,
  { restore, members }: RestoreSnapshot,
  signal: AbortSignal,
): Promise<readonly RestoredMember[]> {
  const { namespace } = restore.metadata;
  return await Promise.all(
    members.map(async (member) => {
      const claim = await liveAt(kube, PERSISTENT_VOLUME_CLAIMS, { namespace, name: member.name }, signal);
      return { ...member, claim };
    }),
  );
}

async function liveCluster(
  kube: RestoreWrites,
  { metadata: { namespace }, spec }: EtcdRestore,
  signal: AbortSignal,
): Promise<EtcdCluster | undefined> {
  return await liveAt(kube, ETCD_CLUSTERS, { namespace, name: spec.clusterTemplate.clusterName }, signal);
}

/**
 * Removes the operator's finalizer. When it is the last finalizer of an EtcdRestore that is being deleted, the
 * EtcdRestore is deleted.
 */
async function releaseRestore(
  kube: RestoreWrites,
  snapshot: RestoreSnapshot,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<Written> {
  const { restore } = snapshot;
  await needKnownClaims(kube, snapshot, signal);
  const others = finalizers.filter((each) => each !== CLAIMS_FINALIZER);
  const written = await patchFinalizers(kube, ETCD_RESTORES, restore, others, signal);
  return restore.metadata.deletionTimestamp === undefined ? written : { kind: "external" };
}

/**
 * Refuses to release the EtcdRestore while a claim exists that the cache does not show yet: the claim would be left
 * behind.
 */
async function needKnownClaims(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const { namespace } = snapshot.restore.metadata;
  for (const { name, claim } of snapshot.members) {
    const live = await liveAt(kube, PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal);
    if (live !== undefined && live.metadata.uid !== claim?.metadata.uid && isOurs(snapshot, live))
      throw notSeenYet(`claim ${name} exists and the cache does not show it yet`);
  }
}
