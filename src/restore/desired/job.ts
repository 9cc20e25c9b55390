import { NO_RETRY_EXIT_CODE } from "#agent/task.ts";
import { podMetadata } from "#agent-job/pod-template.ts";
import { identityLabels } from "#agent-job/volumes.ts";
import {
  BASE_CONTAINER,
  ETCDUTL_CONTAINER,
  FETCH_CONTAINER,
  FINISH_CONTAINER,
  REPLAY_CONTAINER,
  RESTORED_FROM,
  restoreJobName,
  restoreLabels,
} from "#api/names.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { type Draft, type Job, ownerReference } from "#kube/kinds.ts";
import { podSpec } from "#restore/desired/pod.ts";
import { untilOf } from "#restore/desired/tasks.ts";
import type { SourceObject } from "#restore/object.ts";
import type { RestoredMember, RestoreSnapshot } from "#restore/snapshot.ts";

/** Attempts after the first, with 10 s to 160 s between them. Pods that Kubernetes evicts or preempts do not count. */
const RETRIES = 4;
/**
 * Exit codes of etcdutl that a retry would repeat: an error, a panic, unknown flags. After a kill the pod is retried.
 */
const TOOL_FAILURES = [1, 2, 128];

type JobSpec = NonNullable<Job["spec"]>;

/** The Job that fills a member's claim. */
export function restoreJob(
  snapshot: RestoreSnapshot,
  member: RestoredMember,
  object: SourceObject,
  image: string,
): Draft<Job> {
  const { namespace, name, uid } = snapshot.restore.metadata;
  // The uid excludes pods of an earlier EtcdRestore of the same name.
  const labels = { ...restoreLabels(name, snapshot.restore.spec.clusterTemplate.clusterName), [RESTORED_FROM]: uid };
  const { podTemplate } = snapshot.restore.spec;
  const isToPoint = untilOf(snapshot) !== undefined;
  const agents = [FETCH_CONTAINER, ...(isToPoint ? [REPLAY_CONTAINER] : []), FINISH_CONTAINER];
  const tools = [...(isToPoint ? [BASE_CONTAINER] : []), ETCDUTL_CONTAINER];
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      namespace,
      name: restoreJobName(uid, member.ordinal),
      labels,
      // Claims and the EtcdCluster have no such reference: they outlive the EtcdRestore.
      ownerReferences: [ownerReference(ETCD_RESTORES, snapshot.restore)],
    },
    spec: {
      backoffLimit: RETRIES,
      podFailurePolicy: {
        rules: [
          ...agents.map((container) => endsWith(container, [NO_RETRY_EXIT_CODE])),
          ...tools.map((container) => endsWith(container, TOOL_FAILURES)),
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        ],
      },
      template: {
        metadata: podMetadata(podTemplate, labels, identityLabels(object.target, podTemplate)),
        spec: podSpec(snapshot, member, object, image, labels),
      },
    } as JobSpec,
  };
}

function endsWith(containerName: string, values: readonly number[]) {
  return { action: "FailJob", onExitCodes: { containerName, operator: "In", values } };
}
