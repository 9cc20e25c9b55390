import { AGENT_COMMAND, TASK_VARIABLE } from "#agent/task.ts";
import { PROXY_VARIABLES } from "#agent-job/pod-template.ts";
import { VOLUME_MOUNT } from "#agent-job/target.ts";
import {
  AUTH_KEYS,
  CREDENTIAL_KEYS,
  DESTINATION_VOLUME,
  IDENTITY_AUDIENCE,
  IDENTITY_VOLUME,
  KEY_FILE,
  MOUNTS,
  TLS_KEYS,
} from "#agent-job/volumes.ts";
import {
  BACKUP_LABEL,
  BASE_CONTAINER,
  DATA_VOLUME,
  ETCD_CONTAINER,
  ETCDUTL_CONTAINER,
  FETCH_CONTAINER,
  GROUP,
  REPLAY_CONTAINER,
  REPLICA_CONTAINER,
  RESTORE_LABEL,
  VOLUME_PATH,
} from "#api/names.ts";
import { SYSTEM_PRIORITY } from "#api/pod-template/reserved-power.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { VERIFIED_ETCD_COMMAND } from "#backup/desired/verification.ts";
import { SOURCE_TLS_VOLUME } from "#backup/reach.ts";
import type { Validation } from "./admission-policy.ts";
import { isAuthoritys } from "./certificate-policy.ts";
import { isConfinedPod, listOf } from "./confinement.ts";

// Limits the operator's Jobs: with a right to create any Job, it could run any program and read any Secret. Its Jobs
// have one shape. All parts that the EtcdBackup does not choose are fixed here. `pod` is the spec of the pods.

const isJob = "variables.resource == 'jobs'";

const VARIABLES = [TASK_VARIABLE, ...Object.values(PROXY_VARIABLES)];
const CREDENTIALS = Object.values(CREDENTIAL_KEYS).flatMap(({ must, may }) => [...must, ...may]);

/**
 * Volumes of such pods by name, each with its mount path and the keys of Secrets in it, which are files of the same
 * names. Volumes without keys are claims and empty volumes. At another path a volume could hide the agent's own
 * program.
 */
const PLACES: Readonly<Record<string, { readonly path: string; readonly keys?: readonly string[] }>> = {
  [DATA_VOLUME]: { path: VOLUME_PATH },
  [DESTINATION_VOLUME]: { path: VOLUME_MOUNT },
  credentials: { path: MOUNTS.credentials, keys: [...new Set(CREDENTIALS)] },
  [SOURCE_TLS_VOLUME]: { path: MOUNTS.sourceTLS, keys: TLS_KEYS },
  "source-auth": { path: MOUNTS.sourceAuth, keys: AUTH_KEYS },
  [IDENTITY_VOLUME]: { path: MOUNTS.identity },
};
const isIdentity = `volume.?projected.?sources.orValue([]).size() == 1 && volume.projected.sources.all(source, source.?serviceAccountToken.?audience.orValue('') == '${IDENTITY_AUDIENCE}')`;
const ENCRYPTION = { name: "encryption", path: MOUNTS.encryption };
const PATHS = mapOf({ ...PLACES, [ENCRYPTION.name]: ENCRYPTION }, ({ path }) => `'${path}'`);
const KEYS = mapOf(PLACES, ({ keys = [] }) => listOf(keys));

/** A map in CEL. */
function mapOf<T>(values: Readonly<Record<string, T>>, text: (value: T) => string): string {
  return `{${Object.entries(values)
    .map(([name, value]) => `'${name}': ${text(value)}`)
    .join(", ")}}`;
}

function made(expression: string): string {
  return `!(${isJob}) || !variables.creates || (${expression.replaceAll(/\bpod\./g, "object.spec.template.spec.")})`;
}

/** Kinds that own Jobs. They are in the policy only once, as the API server limits its cost. */
const KINDS = [ETCD_BACKUPS, ETCD_RESTORES].map(({ kind }) => kind);
const LABELS = [BACKUP_LABEL, RESTORE_LABEL];

/**
 * Init containers, in their order, of pods for a backup (none), a restore, a restore to a point in time, and a
 * verification. A verification's etcd keeps running as a sidecar.
 */
const RESTORING = [FETCH_CONTAINER, ETCDUTL_CONTAINER];
const REPLAYING = [FETCH_CONTAINER, BASE_CONTAINER, REPLICA_CONTAINER, REPLAY_CONTAINER, ETCDUTL_CONTAINER];
const BEFORE = [[], RESTORING, REPLAYING, [...RESTORING, ETCD_CONTAINER]].map((names) => names.join(" "));
const ALL = "(pod.containers + pod.?initContainers.orValue([]))";
const isTool = `each.name in ${listOf([ETCDUTL_CONTAINER, BASE_CONTAINER, ETCD_CONTAINER, REPLICA_CONTAINER])}`;
const isReplica = `each.name == '${REPLICA_CONTAINER}'`;
const isEtcd = `each.name in ${listOf([ETCD_CONTAINER, REPLICA_CONTAINER])}`;

/**
 * Validations of the operator's Jobs.
 * @param image the operator's own image, which they run
 * @param repositories of etcd's images that may have a cloud identity
 */
export function jobValidations(image: string, repositories: readonly string[]): readonly Validation[] {
  const isKnown = repositories.map((each) => `each.image.startsWith('${each}:v')`).join(" || ");
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
      // Users choose etcd's image, so its containers get only the data volume, and no cloud identity unless the image
      // is from a known repository.
      expression: made(
        `pod.?initContainers.orValue([]).all(each, !(${isTool}) || ((each.name == '${ETCD_CONTAINER}' ? each.?command.orValue([]) == ${listOf(VERIFIED_ETCD_COMMAND)}` +
          ` : (each.?command.orValue([]).size() > 3 && (${isReplica} ? each.command[0] == 'etcd' : each.command[0] == 'etcdutl' && each.command[1] == 'snapshot' && each.command[2] == 'restore')))` +
          ` && each.?env.orValue([]).size() == 0 && each.?volumeMounts.orValue([]).all(one, one.name == '${DATA_VOLUME}')` +
          ` && (pod.?serviceAccountName.orValue('default') == 'default' || ${isKnown})))` +
          ` && pod.containers.all(each, !(${isTool}))`,
      ),
      message: `pods of the operator's Jobs run etcdutl only to restore a snapshot, and etcd only for the pod itself, without Secrets. With a service account other than default, etcd's image is from ${repositories.join(" or ")}`,
    },
    {
      expression: made(
        `${ALL}.all(each, each.?envFrom.orValue([]).size() == 0` +
          ` && each.?env.orValue([]).all(one, one.name in ${listOf(VARIABLES)} && !has(one.valueFrom)))`,
      ),
      message: `the environment of pods of the operator's Jobs is ${VARIABLES.join(", ")}, which hold no secret, and nothing else`,
    },
    {
      // Under another file name a key could pass for a password, and be sent to the server in the task. The data volume
      // has no Secret, since etcd's tools mount it.
      expression: made(
        `pod.?volumes.orValue([]).all(volume, volume.name in ${listOf([DATA_VOLUME, DESTINATION_VOLUME])}` +
          " ? has(volume.persistentVolumeClaim) || has(volume.emptyDir)" +
          ` : volume.name == '${IDENTITY_VOLUME}' ? ${isIdentity}` +
          " : has(volume.projected) && volume.projected.?sources.orValue([]).all(source, has(source.secret) && source.secret.?items.orValue([]).size() > 0" +
          ` && !${isAuthoritys("source.secret.name")}` +
          ` && source.secret.items.all(item, volume.name == '${ENCRYPTION.name}' ? item.path == '${KEY_FILE}' : (item.path == item.key && item.key in ${KEYS}[?volume.name].orValue([])))))`,
      ),
      message:
        "pods of the operator's Jobs mount claims, empty volumes, a token for no API server, and of Secrets only keys that a backup needs. The files have the keys' names, and no Secret is a CA's",
    },
    {
      // With a subPath a key could become a file of any name.
      expression: made(
        `${ALL}.all(each, each.?volumeDevices.orValue([]).size() == 0 && each.?volumeMounts.orValue([]).all(one,` +
          ` one.mountPath == ${PATHS}[?one.name].orValue('') && !has(one.subPath) && !has(one.subPathExpr)))`,
      ),
      message: "containers of the operator's Jobs mount whole volumes, each in its own place, and no devices",
    },
    {
      // Containers that share processes can read each other's files.
      expression: made(`!pod.?shareProcessNamespace.orValue(false) && ${ALL}.all(each, !has(each.workingDir))`),
      message: "containers of the operator's Jobs share no processes, and have no working directory of their own",
    },
    {
      expression: made("!pod.?automountServiceAccountToken.orValue(true)"),
      message: "pods of the operator's Jobs get no token",
    },
    {
      expression: made(
        "!(pod.?hostNetwork.orValue(false) || pod.?hostPID.orValue(false) || pod.?hostIPC.orValue(false))" +
          " && pod.?resourceClaims.orValue([]).size() == 0 && !has(pod.nodeName)" +
          ` && !pod.?priorityClassName.orValue('').startsWith('${SYSTEM_PRIORITY}')` +
          ` && ${ALL}.all(each, each.?ports.orValue([]).all(port, port.?hostPort.orValue(0) == 0))`,
      ),
      message:
        "pods of the operator's Jobs have nothing of their node, are placed by a scheduler, and have no priority of Kubernetes' own components",
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
