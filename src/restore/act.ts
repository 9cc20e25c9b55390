import { CLAIMS_FINALIZER } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_RESTORES, type EtcdRestore, type EtcdRestoreStatus } from "#api/v1beta1/restore.ts";
import type { KubeClient } from "#kube/client.ts";
import { JOBS, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from "#kube/kinds.ts";
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
import { deleteJob, patchFinalizers, stored } from "#runtime/writes.ts";

/** What this room writes to. */
export type RestoreWrites = Pick<KubeClient, "get" | "create" | "replace" | "patch" | "delete">;

/** Does one step: exactly one write, with its precondition. */
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
      // A POST and not an apply: a claim that appeared meanwhile holds somebody's data and is not to be changed.
      return stored(PERSISTENT_VOLUME_CLAIMS, await kube.create(PERSISTENT_VOLUME_CLAIMS, step.claim, { signal }));
    case "createJob":
      await needRestore(kube, snapshot, signal);
      await needNoCluster(kube, snapshot, signal);
      return stored(JOBS, await kube.create(JOBS, step.job, { signal }));
    case "deleteJob":
      return await deleteJob(kube, step.job, signal);
    case "tellClaim":
      await needUntaken(kube, snapshot, signal);
      return await tellClaim(kube, step.claim, step.annotations, signal);
    case "deleteClaim":
      await needGivenUp(kube, snapshot, signal);
      return await deleteClaim(kube, step.claim, signal);
    case "createCluster":
      await needRestore(kube, snapshot, signal);
      await needClaims(kube, snapshot, signal);
      return stored(ETCD_CLUSTERS, await kube.create(ETCD_CLUSTERS, step.cluster, { signal }));
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: RestoreWrites,
  snapshot: Pick<RestoreSnapshot, "restore">,
  status: EtcdRestoreStatus,
  signal: AbortSignal,
): Promise<Written> {
  const restore: EtcdRestore = { ...snapshot.restore, status };
  return stored(ETCD_RESTORES, await kube.replace(ETCD_RESTORES, restore, { signal, subresource: "status" }));
}

/**
 * A create has no precondition that could tell that the cache is behind. What is made for a restore that is gone, nobody would look after. So
 * the API server is asked first.
 */
async function needRestore(kube: RestoreWrites, { restore }: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveOf(kube, ETCD_RESTORES, restore, signal);
  if (live !== undefined && live.metadata.deletionTimestamp === undefined) return;
  throw outOfDate(ETCD_RESTORES, restore.metadata, `EtcdRestore ${restore.metadata.name} is gone`);
}

/** A cluster that the cache does not show yet may be taking the claim this moment. */
async function needNoCluster(
  kube: RestoreWrites,
  { restore, cluster }: RestoreSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const live = await liveCluster(kube, restore, signal);
  if (live === undefined) return;
  if (live.metadata.uid === cluster?.metadata.uid && live.status?.identity === undefined) return;
  throw notSeenYet(`EtcdCluster ${live.metadata.name} is there`);
}

/** Whose data a claim holds is for the cluster to say that has taken it, which the cache may not show yet. */
async function needUntaken(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveCluster(kube, snapshot.restore, signal);
  if (live !== undefined && isTaken({ ...snapshot, cluster: live }))
    throw notSeenYet(`EtcdCluster ${live.metadata.name} has taken the claims`);
}

/** A cluster that is made of claims which are gone would wait for them, and nobody would know why it was made. */
async function needClaims(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const live = await liveMembers(kube, snapshot, signal);
  for (const { name, claim } of snapshot.members) {
    const there = live.find((member) => member.name === name)?.claim;
    if (there?.metadata.uid === claim?.metadata.uid && isHandedOver(snapshot, there)) continue;
    if (claim === undefined) throw notSeenYet(`claim ${name} is not as it was`);
    throw outOfDate(PERSISTENT_VOLUME_CLAIMS, claim.metadata, `claim ${name} is gone, or going`);
  }
}

/**
 * That nobody lives on the claims of a restore that was given up is known by all of them, by the cluster and by the record: that one was told, or taken,
 * makes no conflict of another one that is deleted.
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

/** Patches only this very claim, and only as it was read. */
async function tellClaim(
  kube: RestoreWrites,
  { metadata }: PersistentVolumeClaim,
  annotations: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const options = { signal, type: "merge" as const, preconditions: { uid, resourceVersion } };
  const patch = { metadata: { annotations } };
  return stored(
    PERSISTENT_VOLUME_CLAIMS,
    await kube.patch(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, patch, options),
  );
}

/** Deletes only this very claim, and only as it was read: who has said meanwhile whose data it holds makes this a conflict. */
async function deleteClaim(
  kube: RestoreWrites,
  { metadata }: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<Written> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await kube.delete(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal, preconditions });
  return { kind: "deleted", resource: PERSISTENT_VOLUME_CLAIMS, ref: { namespace, name }, uid };
}

/** Takes our finalizer away, and if it was the last one of a restore that is being deleted, the restore goes. */
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

/** A claim that was made, and neither the answer nor the cache has told it yet, would be left behind. */
async function needKnownClaims(kube: RestoreWrites, snapshot: RestoreSnapshot, signal: AbortSignal): Promise<void> {
  const { namespace } = snapshot.restore.metadata;
  for (const { name, claim } of snapshot.members) {
    const live = await liveAt(kube, PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal);
    if (live !== undefined && live.metadata.uid !== claim?.metadata.uid && isOurs(snapshot, live))
      throw notSeenYet(`claim ${name} is there`);
  }
}
