import { type AgentTask, NO_RETRY_EXIT_CODE, PROGRESS_PORT } from "#agent/task.ts";
import { agentContainer, type Container } from "#agent-job/containers.ts";
import { agentSettings } from "#agent-job/pod-template.ts";
import type { Target } from "#agent-job/target.ts";
import { destinationVolumes, type Mounted, readOnly } from "#agent-job/volumes.ts";
import { AGENT_CONTAINER, backupJobName, checkJobName, deletionJobName } from "#api/names.ts";
import { jobOf, type Work } from "#backup/desired/job-shape.ts";
import { sourceVolumes } from "#backup/desired/source-volumes.ts";
import { archiveTask, backupTask, checkTask, deleteTask } from "#backup/desired/task.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Draft, Job } from "#kube/kinds.ts";

/**
 * Attempts of an archive's Job: it runs for years and must survive temporary failures, with at most six minutes between
 * attempts.
 */
const ARCHIVE_RETRIES = 1_000_000;

/** The Job that takes and stores the snapshot. */
export function backupJob(snapshot: BackupSnapshot, target: Target, image: string): Draft<Job> {
  const { metadata, spec } = snapshot.backup;
  const { activeDeadlineSeconds, archive } = spec;
  const task = archive === undefined ? backupTask(snapshot, target) : archiveTask(snapshot, target, archive);
  const volumes = [...destinationVolumes(target, spec.podTemplate), ...sourceVolumes(snapshot)];
  return jobOf(snapshot, target, backupJobName(metadata.name), {
    ...agentWork(snapshot, image, task, volumes),
    ...(archive === undefined ? {} : { backoffLimit: ARCHIVE_RETRIES }),
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
  });
}

/** The Job that deletes what the backup stored. */
export function deletionJob(snapshot: BackupSnapshot, target: Target, image: string): Draft<Job> {
  const { metadata, spec } = snapshot.backup;
  const volumes = destinationVolumes(target, spec.podTemplate);
  const work = agentWork(snapshot, image, deleteTask(snapshot, target), volumes);
  return jobOf(snapshot, target, deletionJobName(metadata.uid), work);
}

/** The Job that checks whether what the backup stored is still there. It writes nothing. */
export function checkJob(snapshot: BackupSnapshot, target: Target, image: string): Draft<Job> {
  const { metadata, spec } = snapshot.backup;
  const volumes = readOnly(destinationVolumes(target, spec.podTemplate));
  const work = agentWork(snapshot, image, checkTask(snapshot, target), volumes);
  return jobOf(snapshot, target, checkJobName(metadata.uid), work);
}

function agentWork({ backup }: BackupSnapshot, image: string, task: AgentTask, volumes: readonly Mounted[]): Work {
  const container = {
    ...agentContainer({
      name: AGENT_CONTAINER,
      image,
      task,
      ...agentSettings(backup.spec.podTemplate),
      volumes,
    }),
    ports: [{ name: "progress", containerPort: PROGRESS_PORT, protocol: "TCP" }],
  } as Container;
  return {
    containers: [container],
    volumes: volumes.map(({ volume }) => volume),
    hopeless: [{ container: AGENT_CONTAINER, exitCodes: [NO_RETRY_EXIT_CODE] }],
  };
}
