import type { Scheme } from "#api/names.ts";
import { clientScheme, operatorSecretName, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isRunning, lastEnded, reportedFailure, sourceOfTask, stateOf, workingPod } from "#backup/job-state.ts";
import { type Attempted, type BackupSnapshot, isOwned } from "#backup/snapshot.ts";
import type { Job } from "#kube/kinds.ts";

// What becomes of a Job when its cluster comes to be reached in another way, while the agent is at work?
//   A Job never changes, and neither does its task. So it is ended, and one that reaches the cluster takes its place.
// When is that?
//   An archive goes on at once where the one before has ended, so it goes over as soon as both ways lead to the members. A snapshot would begin
//   anew: whoever takes one is left to it, and ended only when nothing of it is at work.

/** How the members of an EtcdCluster are asked. */
export interface Reach {
  readonly scheme: Scheme;
  /** The Secret with which that is done over TLS. */
  readonly secretName?: string;
}

/** The volume with that Secret. */
export const SOURCE_TLS_VOLUME = "source-tls";

/** How they are asked by now. Where they serve both kinds of clients, as they are to be asked from then on. */
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

/** Members that go back to plain HTTP show for a while what came from a provider that the spec does not name any more. */
function asServed(cluster: EtcdCluster): EtcdCluster {
  const { spec, status } = cluster;
  if (wantedScheme(cluster) === "https") return cluster;
  const client = status?.issuedBy?.client ?? { provider: "Operator" };
  return { ...cluster, spec: { ...spec, tls: { ...spec.tls, client } } as EtcdCluster["spec"] };
}

/** How the agent of this Job asks them; undefined when it does not say so. */
function reachOfJob(job: Job): Reach | undefined {
  const [endpoint] = sourceOfTask(job)?.endpoints ?? [];
  if (endpoint === undefined) return undefined;
  if (!endpoint.startsWith("https:")) return { scheme: "http" };
  const volumes = job.spec?.template.spec?.volumes ?? [];
  const [source] = volumes.find(({ name }) => name === SOURCE_TLS_VOLUME)?.projected?.sources ?? [];
  const secretName = source?.secret?.name;
  return secretName === undefined ? { scheme: "https" } : { scheme: "https", secretName };
}

/** In which other way the cluster is reached by now than the Job was made for, for people; `undefined` when it is the same, or nobody's concern. */
export function otherReach(snapshot: BackupSnapshot): string | undefined {
  const { taking, cluster } = snapshot;
  if (taking === undefined || cluster === undefined || !isOwned(snapshot, taking.job)) return undefined;
  const had = reachOfJob(taking.job);
  const now = reachOf(cluster);
  if (had === undefined || sourceOfTask(taking.job)?.clusterID !== cluster.status?.identity?.clusterID)
    return undefined;
  // Members stop to serve what is not wanted any more one after another: nobody goes back to that.
  const isSame = had.scheme === now.scheme ? had.secretName === now.secretName : had.scheme === wantedScheme(cluster);
  return isSame
    ? undefined
    : `EtcdCluster ${cluster.metadata.name} is asked ${reachText(now)} by now, and no more ${reachText(had)}`;
}

function reachText({ scheme, secretName }: Reach): string {
  if (scheme === "http") return "over plain HTTP";
  return secretName === undefined ? "over TLS without a Secret" : `over TLS with Secret ${secretName}`;
}

/** Whether another Job is to take the place of this one because of that; it may have failed because of it, too. */
export function isToBeRenewed(snapshot: BackupSnapshot, taking: Attempted): boolean {
  if (otherReach(snapshot) === undefined) return false;
  const state = stateOf(taking.job);
  if (state === "failed") return SOURCE_FAILURES.includes(reportedFailure(taking)?.reason);
  const pod = workingPod(taking);
  // A pod that has succeeded has stored it: its Job is complete in a moment.
  const isAtWork = (pod !== undefined && isRunning(pod)) || lastEnded(taking.pods)?.status?.phase === "Succeeded";
  return state === "active" && (snapshot.backup.spec.archive !== undefined || !isAtWork);
}

/** How an agent fails that asks in a way in which it is not answered any more. */
const SOURCE_FAILURES: readonly unknown[] = ["SourceUnreachable", "SourceTLS", "SourceAuth"];
