import type { Container } from "#agent-job/containers.ts";
import { podFields, podMetadata } from "#agent-job/pod-template.ts";
import type { Target } from "#agent-job/target.ts";
import { identityLabels } from "#agent-job/volumes.ts";
import { backupLabels } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { placement } from "#backup/desired/placement.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { type Draft, type Job, ownerReference, type Pod } from "#kube/kinds.ts";

// Why a Job, and not a pod?
//   A Job replaces a pod that is evicted or lost with its node, even while no operator runs. It stays with its last pod
//   for a day after its end, so that users can read the agent's log.

/** Attempts after the first, with 10 s to 160 s between them. Pods that Kubernetes evicts or preempts do not count. */
const RETRIES = 4;
/** Grace period of the pod, in seconds: the agent aborts its upload. Smaller: parts of uploads stay in the store. */
const GRACE_SECONDS = 30;

type JobSpec = NonNullable<Job["spec"]>;

/** Pod and failure policy of a Job. */
export interface Work {
  readonly initContainers?: readonly object[];
  readonly containers: readonly Container[];
  readonly volumes: NonNullable<NonNullable<Pod["spec"]>["volumes"]>;
  /** Exit codes of containers that a retry would repeat. */
  readonly hopeless: readonly { readonly container: string; readonly exitCodes: readonly number[] }[];
  readonly activeDeadlineSeconds?: number;
  /** Whether an eviction counts as an attempt. */
  readonly countsEvictions?: boolean;
  /** Attempts after the first. Undefined: RETRIES. */
  readonly backoffLimit?: number;
}

/** A Job of the backup, with restricted pod security and without a token. */
export function jobOf(snapshot: BackupSnapshot, target: Target, name: string, work: Work): Draft<Job> {
  const { backup } = snapshot;
  const { metadata, spec } = backup;
  const { hopeless, activeDeadlineSeconds, backoffLimit = RETRIES, countsEvictions = false, ...pod } = work;
  const labels = { ...backupLabels(metadata.name, snapshot.cluster?.metadata.name) };
  const placed = placement(snapshot);
  const ends = hopeless.map(({ container, exitCodes }) => ({
    action: "FailJob",
    onExitCodes: { containerName: container, operator: "In", values: exitCodes },
  }));
  const evicted = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { namespace: metadata.namespace, name, labels, ownerReferences: [ownerReference(ETCD_BACKUPS, backup)] },
    spec: {
      backoffLimit,
      podFailurePolicy: {
        rules: countsEvictions ? ends : [...ends, evicted],
      },
      ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
      template: {
        metadata: podMetadata(
          spec.podTemplate,
          { ...labels, ...placed.labels },
          identityLabels(target, spec.podTemplate),
        ),
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          ...podFields(spec.podTemplate),
          ...placed.spec,
          ...pod,
        },
      },
    } as JobSpec,
  };
}
