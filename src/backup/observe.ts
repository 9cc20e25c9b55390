import type { Progress } from "#agent/report.ts";
import { type Attempted, attempted, hasEnded, isRunning, VERIFIERS, workingPod } from "#agent-job/job-state.ts";
import { reported } from "#agent-job/live-pods.ts";
import { type WarningsReader, warningsOf } from "#agent-job/warnings.ts";
import {
  AGENT_CONTAINER,
  backupJobName,
  checkJobName,
  deletionJobName,
  ordinalOf,
  verificationJobName,
} from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isNewest } from "#backup/newest.ts";
import { isCheckDue, isCheckRecorded } from "#backup/object-check.ts";
import type { ProgressReader } from "#backup/progress.ts";
import { isFull } from "#backup/running.ts";
import { awaitsTurn, type BackupSnapshot, isDeleting, isToBeVerified } from "#backup/snapshot.ts";
import type { Turns } from "#backup/turns.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { controllerOf, type Job, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, type Pod } from "#kube/kinds.ts";
import type { CacheView, Key } from "#runtime/controller.ts";

/** Index by backup: `namespace/name` of the EtcdBackup. */
export const BACKUP_INDEX = "backup";
/** Index of backups by source: `namespace/name` of the EtcdCluster. */
export const SOURCE_INDEX = "source";

export interface BackupReads {
  readonly backups: CacheView<EtcdBackup>;
  readonly clusters: CacheView<EtcdCluster>;
  readonly claims: CacheView<PersistentVolumeClaim>;
  readonly jobs: CacheView<Job>;
  readonly pods: CacheView<Pod>;
  /**
   * For Kubernetes' warning events, the only source for a missing quota or Secret. Also for the destination's claim.
   */
  readonly kube: Pick<KubeClient, "find" | "list">;
  readonly clock: Clock;
  /** Repository of etcd's images. */
  readonly imageRepository: string;
  /** The operator's own image. */
  readonly agentImage: string | undefined;
  /** How many backups may run at the same time. */
  readonly runningBackups: number;
}

/** Readers with a memory of their own. */
export interface Readers {
  readonly progress: Pick<ProgressReader, "of">;
  readonly warnings: Pick<WarningsReader, "of">;
  readonly turns: Pick<Turns, "running">;
}

/**
 * Reads everything that one decision may use. Cached objects cost nothing; the agent and Kubernetes' events are asked
 * while the Job runs.
 */
export async function observeBackup(
  reads: BackupReads,
  { progress, warnings, turns }: Readers,
  key: Key,
  signal: AbortSignal,
): Promise<Observed<BackupSnapshot>> {
  const backup = reads.backups.get(key);
  if (backup === undefined) return absent;
  const { namespace, name } = key;
  const pods = reads.pods.byIndex(BACKUP_INDEX, `${namespace}/${name}`);
  const jobNamed = (job: string) => attempted(reads.jobs.get({ namespace, name: job }), pods);
  const { uid } = backup.metadata;
  const takenAtMs = reads.clock.wallMs();
  const removing = jobNamed(deletionJobName(uid));
  const seen = {
    taking: jobNamed(backupJobName(name)),
    verifying: jobNamed(verificationJobName(uid)),
    checking: jobNamed(checkJobName(uid)),
  };
  const attempts = await reportedAttempts(reads, backup, seen, takenAtMs, signal);
  if (attempts.is !== "present") return attempts;
  const { taking, verifying, checking } = attempts.value;
  const owners = [taking, removing, verifying, checking].map((each) => each?.job.metadata.uid);
  const active = backup.metadata.deletionTimestamp === undefined ? (checking ?? verifying ?? taking) : removing;
  const newest = isNewest(reads.backups, backup);
  const isToCheck = checking === undefined && isCheckDue({ backup, takenAtMs, isNewest: newest });
  const isToStart = (isOpen(backup) && taking === undefined) || isToCheck;
  const running = isToStart && awaitsTurn({ backup }) ? turns.running(namespace) : undefined;
  const [agentsWord, warned, claim] = await Promise.all([
    progressOf(progress, active, signal),
    warningsOf(warnings, [active], [AGENT_CONTAINER, ...VERIFIERS], takenAtMs, signal),
    claimOf(reads, backup, { taking, removing, verifying, running, isToCheck }, signal),
  ]);
  if (claim.is === "unknown") return claim;
  return present({
    takenAtMs,
    backup,
    cluster: clusterOf(reads, backup),
    taking,
    removing,
    verifying,
    checking,
    isNewest: newest,
    orphans: pods.filter((pod) => !hasEnded(pod) && !owners.includes(controllerOf(pod)?.uid)),
    claim: claim.is === "present" ? claim.value : undefined,
    namesake: namesakeOf(reads, backup),
    warnings: warned,
    progress: agentsWord,
    imageRepository: reads.imageRepository,
    agentImage: reads.agentImage,
    running,
  });
}

/** Reads pods from the API server where their reports become final; not for what is final already. */
async function reportedAttempts(
  { kube }: BackupReads,
  backup: EtcdBackup,
  { taking, verifying, checking }: Seen,
  nowMs: number,
  signal: AbortSignal,
): Promise<Observed<Seen>> {
  const take = isOpen(backup) ? await reported(kube, taking, nowMs, signal) : present(taking);
  if (take.is !== "present") return take;
  const verify = isToBeVerified({ backup }) ? await reported(kube, verifying, nowMs, signal) : present(verifying);
  if (verify.is !== "present") return verify;
  const isOver = isCheckRecorded({ backup, checking });
  const check = isOver ? present(checking) : await reported(kube, checking, nowMs, signal);
  if (check.is !== "present") return check;
  return present({ taking: take.value, verifying: verify.value, checking: check.value });
}

type Seen = Pick<BackupSnapshot, "taking" | "verifying" | "checking">;

/** An EtcdBackup that is being deleted reports only the deletion of its object, no phase. */
function isOpen({ metadata, status }: EtcdBackup): boolean {
  const isEnded = status?.phase === "Completed" || status?.phase === "Failed";
  return metadata.deletionTimestamp === undefined && !isEnded;
}

function clusterOf({ clusters }: BackupReads, { metadata, spec }: EtcdBackup): EtcdCluster | undefined {
  const { cluster } = spec.source;
  return cluster === undefined ? undefined : clusters.get({ namespace: metadata.namespace, name: cluster.name });
}

/**
 * The claim, from the API server when a Job may be created next. Otherwise from the cache, which has only claims of
 * members: a pod that still waits for its claim must not get one of these.
 */
async function claimOf(
  { claims, kube }: BackupReads,
  backup: EtcdBackup,
  jobs: Jobs,
  signal: AbortSignal,
): Promise<Observed<PersistentVolumeClaim>> {
  const { metadata, spec } = backup;
  const { volume } = spec.destination;
  if (volume === undefined) return absent;
  const ref = { namespace: metadata.namespace, name: volume.claimName };
  if (mayNeedJob(backup, jobs)) return await kube.find(PERSISTENT_VOLUME_CLAIMS, ref, { signal });
  const cached = claims.get(ref);
  return cached === undefined ? absent : present(cached);
}

function mayNeedJob(backup: EtcdBackup, { taking, removing, verifying, running, isToCheck }: Jobs): boolean {
  if (isDeleting({ backup })) return removing === undefined;
  if (isToCheck || (isToBeVerified({ backup }) && verifying === undefined)) return true;
  return isOpen(backup) && taking === undefined && !(running !== undefined && isFull(running));
}

interface Jobs extends Pick<BackupSnapshot, "taking" | "removing" | "verifying" | "running"> {
  /** Whether the Job of the daily check is to be created. */
  readonly isToCheck: boolean;
}

function namesakeOf({ clusters }: BackupReads, { metadata, spec }: EtcdBackup): EtcdCluster | undefined {
  const { claimName = "" } = spec.destination.volume ?? {};
  const name = claimName.slice(0, Math.max(0, claimName.lastIndexOf("-")));
  return ordinalOf(name, claimName) === undefined ? undefined : clusters.get({ namespace: metadata.namespace, name });
}

async function progressOf(
  reader: Readers["progress"],
  active: Attempted | undefined,
  signal: AbortSignal,
): Promise<Progress | undefined> {
  const pod = active === undefined ? undefined : workingPod(active);
  return pod === undefined || !isRunning(pod) ? undefined : await reader.of(pod, signal);
}
