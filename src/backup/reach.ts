import {
  type Attempted,
  hasSucceeded,
  isRunning,
  reportedFailure,
  sourceOfTask,
  stateOf,
  workingPod,
} from "#agent-job/job-state.ts";
import type { Scheme } from "#api/names.ts";
import { clientScheme, operatorSecretName, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import type { Job } from "#kube/kinds.ts";

// What if the client scheme or Secret of the cluster changes while an agent runs?
//   A Job and its task never change. So the Job is deleted, and a new one with the current scheme and Secret replaces
//   it.
// When?
//   An archive continues where the old Job ended, so it is replaced as soon as both schemes are served. A snapshot
//   would begin again: the Job is replaced only when nothing of it runs.

/** How clients reach an EtcdCluster's members. */
export interface Reach {
  readonly scheme: Scheme;
  /** Secret for TLS. */
  readonly secretName?: string;
}

/** Volume with that Secret. */
export const SOURCE_TLS_VOLUME = "source-tls";

/** Current way to reach the members. While they serve both http and https, the requested one. */
export function reachOf(cluster: EtcdCluster): Reach {
  const isBoth = cluster.status?.tls?.client?.bothServedSince !== undefined;
  const scheme = isBoth ? wantedScheme(cluster) : clientScheme(cluster);
  if (scheme === "http") return { scheme };
  const secretName = operatorSecretName(asServed(cluster));
  return secretName === undefined ? { scheme } : { scheme, secretName };
}

function wantedScheme({ spec }: EtcdCluster): Scheme {
  return providerOf(spec, "client") === "None" ? "http" : "https";
}

/** The cluster with the provider of the certificates that members still serve, while they switch back to plain HTTP. */
function asServed(cluster: EtcdCluster): EtcdCluster {
  const { spec, status } = cluster;
  if (wantedScheme(cluster) === "https") return cluster;
  const client = status?.tls?.client?.issuedBy ?? { provider: "Operator" };
  return { ...cluster, spec: { ...spec, tls: { ...spec.tls, client } } as EtcdCluster["spec"] };
}

/** How this Job's agent reaches the members; undefined when its task does not say. */
function reachOfJob(job: Job): Reach | undefined {
  const [endpoint] = sourceOfTask(job)?.endpoints ?? [];
  if (endpoint === undefined) return undefined;
  if (!endpoint.startsWith("https:")) return { scheme: "http" };
  const volumes = job.spec?.template.spec?.volumes ?? [];
  const [source] = volumes.find(({ name }) => name === SOURCE_TLS_VOLUME)?.projected?.sources ?? [];
  const secretName = source?.secret?.name;
  return secretName === undefined ? { scheme: "https" } : { scheme: "https", secretName };
}

/**
 * Text about how the way to reach the cluster differs from the Job's; `undefined` when it does not differ or does not
 * matter.
 */
export function otherReach(snapshot: BackupSnapshot): string | undefined {
  const { taking, cluster } = snapshot;
  if (taking === undefined || cluster === undefined || !isOwned(snapshot, taking.job)) return undefined;
  const had = reachOfJob(taking.job);
  const now = reachOf(cluster);
  if (had === undefined || sourceOfTask(taking.job)?.clusterID !== cluster.status?.identity?.clusterID)
    return undefined;
  // Members stop serving the old scheme one at a time: a Job with the new scheme stays.
  const isSame = had.scheme === now.scheme ? had.secretName === now.secretName : had.scheme === wantedScheme(cluster);
  return isSame
    ? undefined
    : `EtcdCluster ${cluster.metadata.name} is now reached ${reachText(now)} instead of ${reachText(had)}`;
}

function reachText({ scheme, secretName }: Reach): string {
  if (scheme === "http") return "over plain HTTP";
  return secretName === undefined ? "over TLS without a Secret" : `over TLS with Secret ${secretName}`;
}

/**
 * Whether a new Job must replace this one because the cluster is reached differently; it may have failed for that
 * reason.
 */
export function isToBeRenewed(snapshot: BackupSnapshot, taking: Attempted): boolean {
  if (otherReach(snapshot) === undefined) return false;
  const state = stateOf(taking);
  if (state === "failed") return SOURCE_FAILURES.includes(reportedFailure(taking)?.reason);
  const pod = workingPod(taking);
  // A pod that has succeeded has stored the object: its Job completes next.
  const isAtWork = (pod !== undefined && isRunning(pod)) || taking.pods.some(hasSucceeded);
  return state === "active" && (snapshot.backup.spec.archive !== undefined || !isAtWork);
}

/** Failures of an agent that uses a scheme or Secret with which the cluster is no longer reached. */
const SOURCE_FAILURES: readonly unknown[] = ["SourceUnreachable", "SourceTLS", "SourceAuth"];
