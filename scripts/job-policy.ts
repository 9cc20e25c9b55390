import { AGENT_COMMAND, TASK_VARIABLE } from "#agent/task.ts";
import {
  BACKUP_LABEL,
  BASE_CONTAINER,
  DATA_VOLUME,
  ETCD_CONTAINER,
  ETCD_REPOSITORY,
  ETCDUTL_CONTAINER,
  FETCH_CONTAINER,
  GROUP,
  REPLAY_CONTAINER,
  REPLICA_CONTAINER,
  RESTORE_LABEL,
} from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { KEY_FILE } from "#backup/desired/task.ts";
import { VERIFIED_ETCD_COMMAND } from "#backup/desired/verification.ts";
import { AUTH_KEYS, CREDENTIAL_KEYS, TLS_KEYS } from "#backup/desired/volumes.ts";
import type { Validation } from "./admission-policy.ts";
import { isAuthoritys } from "./certificate-policy.ts";
import { isConfinedPod, listOf } from "./confinement.ts";

// Whoever may make Jobs may run anything, and read any Secret. The operator makes one kind of Job, so all of its shape is fixed here that
// is not for the EtcdBackup to say. `pod` is the spec of its pods.

const isJob = "variables.resource == 'jobs'";

/** Keys of Secrets that the agent reads, each as a file of its own name. */
const KEYS = [
  ...new Set([
    ...Object.values(CREDENTIAL_KEYS).flatMap(({ must, may }) => [...must, ...may]),
    ...TLS_KEYS,
    ...AUTH_KEYS,
  ]),
];

function made(expression: string): string {
  return `!(${isJob}) || !variables.creates || (${expression.replaceAll(/\bpod\./g, "object.spec.template.spec.")})`;
}

/** Only once: the API server counts what a policy costs. */
const KINDS = [ETCD_BACKUPS, ETCD_RESTORES].map(({ kind }) => kind);
const LABELS = [BACKUP_LABEL, RESTORE_LABEL];

/**
 * Containers that begin before the last one: of a restore's pod, of one to a point in time, and of a verification's, where the last of them runs
 * beside it. A backup's pod has none.
 */
const RESTORING = [FETCH_CONTAINER, ETCDUTL_CONTAINER];
const REPLAYING = [FETCH_CONTAINER, BASE_CONTAINER, REPLICA_CONTAINER, REPLAY_CONTAINER, ETCDUTL_CONTAINER];
const BEFORE = [[], RESTORING, REPLAYING, [...RESTORING, ETCD_CONTAINER]].map((names) => names.join(" "));
const ALL = "(pod.containers + pod.?initContainers.orValue([]))";
const isTool = `each.name in ${listOf([ETCDUTL_CONTAINER, BASE_CONTAINER, ETCD_CONTAINER, REPLICA_CONTAINER])}`;
const isReplica = `each.name == '${REPLICA_CONTAINER}'`;
const isEtcd = `each.name in ${listOf([ETCD_CONTAINER, REPLICA_CONTAINER])}`;

/** What is asked of Jobs. @param image the operator's own, which they run */
export function jobValidations(image: string): readonly Validation[] {
  return [
    { expression: `!(${isJob}) || !variables.updates`, message: "the operator changes no Job" },
    {
      expression: `!(${isJob}) || ${listOf(LABELS)}.exists(label, label in (variables.creates ? variables.labels : variables.oldLabels))`,
      message: `the operator makes and deletes only Jobs of backups and restores, which have the label ${LABELS.join(" or ")}`,
    },
    {
      expression: made(
        `object.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind in ${listOf(KINDS)} && each.apiVersion.startsWith('${GROUP}/'))`,
      ),
      message: `a Job of the operator belongs to an ${KINDS.join(" or ")}`,
    },
    {
      expression: made(
        "pod.containers.size() == 1" +
          ` && pod.?initContainers.orValue([]).map(each, each.name).join(' ') in ${listOf(BEFORE)}` +
          ` && ${ALL}.all(each, ${isTool} || (each.image == '${image}' && each.?command.orValue([]) == ${listOf(AGENT_COMMAND)}))` +
          ` && ${ALL}.all(each, each.?args.orValue([]).size() == 0 && ![each.?lifecycle, each.?livenessProbe, each.?readinessProbe, each.?startupProbe].exists(one, one.hasValue()) && each.?restartPolicy.hasValue() == (${isEtcd}))`,
      ),
      message: `pods of the operator's Jobs run the agent of ${image}, and nothing else`,
    },
    {
      // etcd's image is named by people, so it gets nothing but the volume that is to be filled; nor does the cloud know it.
      expression: made(
        `pod.?initContainers.orValue([]).all(each, !(${isTool}) || ((each.name == '${ETCD_CONTAINER}' ? each.?command.orValue([]) == ${listOf(VERIFIED_ETCD_COMMAND)}` +
          ` : (each.?command.orValue([]).size() > 3 && (${isReplica} ? each.command[0] == 'etcd' : each.command[0] == 'etcdutl' && each.command[1] == 'snapshot' && each.command[2] == 'restore')))` +
          ` && each.?env.orValue([]).size() == 0 && each.?volumeMounts.orValue([]).all(one, one.name == '${DATA_VOLUME}')` +
          ` && (pod.?serviceAccountName.orValue('default') == 'default' || each.image.startsWith('${ETCD_REPOSITORY}:v'))))` +
          ` && pod.containers.all(each, !(${isTool}))`,
      ),
      message: `pods of the operator's Jobs run etcdutl only to restore a snapshot, and etcd only for the pod itself, without Secrets, and under an account of their own only that of ${ETCD_REPOSITORY}`,
    },
    {
      expression: made(
        `${ALL}.all(each, each.?envFrom.orValue([]).size() == 0` +
          ` && each.?env.orValue([]).all(one, one.name == '${TASK_VARIABLE}' && !has(one.valueFrom)))`,
      ),
      message: `the environment of pods of the operator's Jobs is ${TASK_VARIABLE}, which holds no secret, and nothing else`,
    },
    {
      // A key under another name could be taken for a password, and be sent to whom the task names.
      expression: made(
        "pod.?volumes.orValue([]).all(volume, has(volume.persistentVolumeClaim) || has(volume.emptyDir) || (has(volume.projected)" +
          " && volume.projected.?sources.orValue([]).all(source, has(source.secret) && source.secret.?items.orValue([]).size() > 0" +
          ` && !${isAuthoritys("source.secret.name")}` +
          ` && source.secret.items.all(item, item.path == '${KEY_FILE}' || (item.path == item.key && item.key in ${listOf(KEYS)})))))`,
      ),
      message:
        "pods of the operator's Jobs mount claims, empty volumes, and of Secrets only keys that a backup needs, under their own names, and none of an authority's",
    },
    {
      expression: made("!pod.?automountServiceAccountToken.orValue(true)"),
      message: "pods of the operator's Jobs get no token",
    },
    {
      expression: made(
        "!(pod.?hostNetwork.orValue(false) || pod.?hostPID.orValue(false) || pod.?hostIPC.orValue(false))" +
          " && pod.?resourceClaims.orValue([]).size() == 0 && !has(pod.nodeName) && !has(pod.priorityClassName)" +
          ` && ${ALL}.all(each, each.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0))`,
      ),
      message: "pods of the operator's Jobs have nothing of their node, and no place or priority of their own",
    },
    {
      expression: made(
        `${ALL}.all(each, !each.?securityContext.?allowPrivilegeEscalation.orValue(true) && !each.?securityContext.?capabilities.?add.hasValue())`,
      ),
      message: "containers of the operator's Jobs do not gain privileges",
    },
    {
      expression: made(isConfinedPod(ALL, "variables.podAnnotations")),
      message: "pods of the operator's Jobs are confined as Pod Security baseline wants them",
    },
  ];
}
