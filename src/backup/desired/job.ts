import { type AgentTask, NO_RETRY_EXIT_CODE, PROGRESS_PORT } from "#agent/task.ts";
import { AGENT_CONTAINER, backupJobName, backupLabels, deletionJobName } from "#api/names.ts";
import { agentContainer } from "#backup/desired/containers.ts";
import { ownedBy } from "#backup/desired/owned.ts";
import { backupTask, deleteTask } from "#backup/desired/task.ts";
import { destinationVolumes, sourceVolumes } from "#backup/desired/volumes.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Target } from "#backup/target.ts";
import type { Draft, Job } from "#kube/kinds.ts";

// Why a Job, and not a pod?
//   A Job makes another pod when one is lost with its node or evicted, while no operator looks. It stays with its last pod until the
//   EtcdBackup is deleted, so that people find the agent's log.

/** The user and group belong to nobody: no image has them, so nothing else on a node runs as them. */
const USER_ID = 65_532;
/** Attempts after the first, with 10 s to 160 s between them; those that Kubernetes itself ends do not count. */
const RETRIES = 4;
/** Until an upload that is broken off has been taken back, in seconds. */
const GRACE_SECONDS = 30;

type JobSpec = NonNullable<Job["spec"]>;

/** Takes the snapshot, and stores it. */
export function backupJob(snapshot: BackupSnapshot, target: Target, image: string): Draft<Job> {
  const { name } = snapshot.backup.metadata;
  const { activeDeadlineSeconds } = snapshot.backup.spec;
  const volumes = [...destinationVolumes(target), ...sourceVolumes(snapshot)];
  return jobOf(snapshot, backupJobName(name), image, backupTask(snapshot, target), volumes, {
    ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
  });
}

/** Deletes what the backup has stored. */
export function deletionJob(snapshot: BackupSnapshot, target: Target, image: string): Draft<Job> {
  const name = deletionJobName(snapshot.backup.metadata.uid);
  return jobOf(snapshot, name, image, deleteTask(snapshot, target), destinationVolumes(target), {});
}

function jobOf(
  snapshot: BackupSnapshot,
  name: string,
  image: string,
  task: AgentTask,
  volumes: ReturnType<typeof destinationVolumes>,
  limits: { activeDeadlineSeconds?: number },
): Draft<Job> {
  const { metadata, spec } = snapshot.backup;
  const labels = { ...backupLabels(metadata.name) };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      namespace: metadata.namespace,
      name,
      labels,
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: {
      backoffLimit: RETRIES,
      podFailurePolicy: {
        rules: [
          {
            action: "FailJob",
            onExitCodes: { containerName: AGENT_CONTAINER, operator: "In", values: [NO_RETRY_EXIT_CODE] },
          },
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        ],
      },
      ...limits,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          ...(spec.serviceAccountName === undefined ? {} : { serviceAccountName: spec.serviceAccountName }),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER_ID,
            runAsGroup: USER_ID,
            fsGroup: USER_ID,
            fsGroupChangePolicy: "OnRootMismatch",
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [container(snapshot, image, task, volumes)],
          volumes: volumes.map(({ volume }) => volume),
        },
      },
    } as JobSpec,
  };
}

function container(
  { backup }: BackupSnapshot,
  image: string,
  task: AgentTask,
  volumes: ReturnType<typeof destinationVolumes>,
) {
  return {
    ...agentContainer({ name: AGENT_CONTAINER, image, task, resources: backup.spec.resources, volumes }),
    ports: [{ name: "progress", containerPort: PROGRESS_PORT, protocol: "TCP" }],
  };
}
