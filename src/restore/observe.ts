import { attempted } from "#agent-job/job-state.ts";
import { reported } from "#agent-job/live-pods.ts";
import { type WarningsReader, warningsOf } from "#agent-job/warnings.ts";
import { QUARANTINE_LABEL, restoreJobName } from "#api/names.ts";
import { ETCD_BACKUPS, type EtcdBackup } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  type Job,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  type Resource,
} from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import { memberNames, restoredIdentity } from "#restore/identity.ts";
import { objectOf } from "#restore/object.ts";
import { FILLERS } from "#restore/pods.ts";
import {
  hasBegun,
  hasEnded,
  isComplete,
  isDeleting,
  type RestoredMember,
  type RestoreSnapshot,
  wasComplete,
} from "#restore/snapshot.ts";
import { isStarted, verdictOf } from "#restore/verdict.ts";
import type { CacheView, Key } from "#runtime/controller.ts";

/** Index by restore: `namespace/name` of the EtcdRestore. */
export const RESTORE_INDEX = "restore";
/** Index by cluster: `namespace/name` of the EtcdCluster that a restore creates, or that claims and pods belong to. */
export const TARGET_INDEX = "target";

export interface RestoreReads {
  readonly restores: CacheView<EtcdRestore>;
  readonly backups: CacheView<EtcdBackup>;
  readonly clusters: CacheView<EtcdCluster>;
  readonly claims: CacheView<PersistentVolumeClaim>;
  readonly jobs: CacheView<Job>;
  readonly pods: CacheView<Pod>;
  /**
   * For Kubernetes' warning events about pods that do not start, and for the source's claim: the cache may show a label
   * that is gone.
   */
  readonly kube: Pick<KubeClient, "find" | "list">;
  readonly etcd: Pick<EtcdClient, "revision">;
  readonly identities: Identities;
  readonly clock: Clock;
  readonly agentImage: string | undefined;
  readonly imageRepository: string;
}

/** Number of members asked for the revision before it counts as unknown. */
const READ_ATTEMPTS = 2;

/**
 * Reads everything that one decision may use. Cached objects cost nothing; Kubernetes' events and the new cluster are
 * read only when they matter.
 */
export async function observeRestore(
  reads: RestoreReads,
  warnings: Pick<WarningsReader, "of">,
  key: Key,
  signal: AbortSignal,
): Promise<Observed<RestoreSnapshot>> {
  const restore = reads.restores.get(key);
  if (restore === undefined) return absent;
  const known = cached(reads, restore);
  if (hasEnded(known)) return present(known);
  const members = await membersOf(reads, known, signal);
  if (members.is === "unknown") return members;
  const filled = await reportedOf(
    reads,
    members.is === "present" ? { ...known, members: members.value } : known,
    signal,
  );
  if (filled.is !== "present") return filled;
  const seen = await withOthers(reads, warnings, filled.value, signal);
  if (seen.is !== "present" || isDeleting(seen.value) || verdictOf(seen.value).phase !== "Failed") return seen;
  const live = await liveIn(reads, seen.value, signal);
  return live.is === "present" ? await withOthers(reads, warnings, live.value, signal) : live;
}

/** Adds what no cache holds: warning events, the source's claim and the cluster's revision. */
async function withOthers(
  reads: RestoreReads,
  warnings: Pick<WarningsReader, "of">,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<RestoreSnapshot>> {
  const [warned, sourceClaim, read] = await Promise.all([
    warningsOf(
      warnings,
      seen.members.map(({ filling }) => filling),
      FILLERS,
      seen.takenAtMs,
      signal,
    ),
    claimOf(reads, seen, signal),
    readOf(reads, seen, signal),
  ]);
  if (sourceClaim.is === "unknown") return sourceClaim;
  return present({
    ...seen,
    warnings: warned,
    sourceClaim: sourceClaim.is === "present" ? sourceClaim.value : undefined,
    read,
  });
}

/**
 * Reads from the API server what would make the restore fail, since Failed is final. An object that is gone does not
 * block the restore.
 */
async function liveIn(
  { kube }: RestoreReads,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<RestoreSnapshot>> {
  const { namespace } = seen.restore.metadata;
  const { source, clusterTemplate } = seen.restore.spec;
  const { backupName } = source;
  const find = <T extends KubeObject>(resource: Resource<T>, name: string): Promise<Observed<T>> =>
    kube.find(resource, { namespace, name }, { signal });
  const [cluster, backup, members, others] = await Promise.all([
    find(ETCD_CLUSTERS, clusterTemplate.clusterName),
    backupName === undefined ? absent : find(ETCD_BACKUPS, backupName),
    Promise.all(seen.members.map(({ name }) => find(PERSISTENT_VOLUME_CLAIMS, name))),
    Promise.all(seen.otherClaims.map(({ metadata }) => find(PERSISTENT_VOLUME_CLAIMS, metadata.name))),
  ]);
  const dark = [cluster, backup, ...members, ...others].find((each) => each.is === "unknown");
  if (dark?.is === "unknown") return dark;
  const known = <T>(each: Observed<T> | undefined) => (each?.is === "present" ? each.value : undefined);
  return present({
    ...seen,
    cluster: known(cluster),
    backup: known(backup),
    members: seen.members.map((member) => ({ ...member, claim: known(members[member.ordinal]) })),
    otherClaims: others.flatMap((each) => known(each) ?? []),
  });
}

function cached(reads: RestoreReads, restore: EtcdRestore): RestoreSnapshot {
  const { namespace, name, uid } = restore.metadata;
  const { source, clusterTemplate } = restore.spec;
  const pods = reads.pods.byIndex(RESTORE_INDEX, `${namespace}/${name}`);
  const jobOf = (ordinal: number) => reads.jobs.get({ namespace, name: restoreJobName(uid, ordinal) });
  const names = memberNames(restore);
  const labelled = reads.claims.byIndex(TARGET_INDEX, `${namespace}/${clusterTemplate.clusterName}`);
  const others = labelled.filter(
    ({ metadata }) => !names.includes(metadata.name) && metadata.labels?.[QUARANTINE_LABEL] === undefined,
  );
  return {
    takenAtMs: reads.clock.wallMs(),
    restore,
    members: names.map((member, ordinal) => ({
      name: member,
      ordinal,
      claim: reads.claims.get({ namespace, name: member }),
      filling: attempted(jobOf(ordinal), pods),
    })),
    otherClaims: others.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    cluster: reads.clusters.get({ namespace, name: clusterTemplate.clusterName }),
    backup: source.backupName === undefined ? undefined : reads.backups.get({ namespace, name: source.backupName }),
    sourceClaim: undefined,
    warnings: [],
    read: undefined,
    agentImage: reads.agentImage,
    imageRepository: reads.imageRepository,
  };
}

/**
 * Reads the claims from the API server when the cluster has begun, but cached claims are not identified: the caches are
 * of different times.
 */
async function membersOf(
  { kube }: RestoreReads,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<readonly RestoredMember[]>> {
  if (!(hasBegun(seen) || wasComplete(seen)) || isComplete(seen)) return absent;
  const { namespace } = seen.restore.metadata;
  const live = await Promise.all(
    seen.members.map(({ name }) => kube.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal })),
  );
  const dark = live.find((each) => each.is === "unknown");
  if (dark?.is === "unknown") return dark;
  const claims = live.map((each) => (each.is === "present" ? each.value : undefined));
  return present(seen.members.map((member) => ({ ...member, claim: claims[member.ordinal] })));
}

/**
 * Adds the pods' reports, read from the API server: claims are identified only by reliable reports, and a failure needs
 * its cause.
 */
async function reportedOf(
  { kube }: RestoreReads,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<RestoreSnapshot>> {
  if (isComplete(seen)) return present(seen);
  const members: RestoredMember[] = [];
  for (const member of seen.members) {
    const filling = await reported(kube, member.filling, seen.takenAtMs, signal);
    if (filling.is !== "present") return filling;
    members.push({ ...member, filling: filling.value });
  }
  return present({ ...seen, members });
}

/**
 * Before a Job exists, the API server is asked. After that the cache suffices, since the Job's pod mounts the claim
 * anyway.
 */
async function claimOf(
  { claims, kube }: RestoreReads,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<PersistentVolumeClaim>> {
  const object = objectOf(seen);
  if (typeof object === "string" || object.target.claimName === undefined) return absent;
  const ref = { namespace: seen.restore.metadata.namespace, name: object.target.claimName };
  if (!isStarted(seen)) return await kube.find(PERSISTENT_VOLUME_CLAIMS, ref, { signal });
  const known = claims.get(ref);
  return known === undefined ? absent : present(known);
}

/** Reads the revision of a cluster that is Ready: the first reachable member with a ready pod answers. */
async function readOf(
  { pods, etcd, identities }: RestoreReads,
  seen: RestoreSnapshot,
  signal: AbortSignal,
): Promise<Observed<bigint> | undefined> {
  const ready = seen.cluster?.status?.conditions?.find(({ type }) => type === "Ready");
  if (!isComplete(seen) || ready?.status !== "True" || seen.cluster === undefined) return undefined;
  const { namespace, name } = seen.cluster.metadata;
  const endpoints = pods
    .byIndex(TARGET_INDEX, `${namespace}/${name}`)
    .filter(isReady)
    .map((pod) => endpointOf(pod, identities))
    .filter((endpoint) => endpoint.is !== "absent");
  const expectedClusterId = clusterIdFromHex(restoredIdentity(seen.restore).clusterID);
  let why = "no member has a ready pod";
  for (const endpoint of endpoints.slice(0, READ_ATTEMPTS)) {
    if (endpoint.is === "unknown") {
      why = endpoint.why;
      continue;
    }
    try {
      return present(await etcd.revision(endpoint.value, { signal, expectedClusterId }));
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
      why = thrown.message;
    }
  }
  return unknown(why);
}
