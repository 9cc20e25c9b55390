import { type FetchTask, NO_RETRY_EXIT_CODE, SNAPSHOT_FILE, type VerifyTask, WORK_DIR_PREFIX } from "#agent/task.ts";
import { agentContainer, type Container, etcdutlContainer } from "#agent-job/containers.ts";
import { agentSettings } from "#agent-job/pod-template.ts";
import type { Target } from "#agent-job/target.ts";
import {
  destinationVolumes,
  encryptionVolumes,
  KEY_FILE,
  MOUNTS,
  mountedCredentials,
  readOnly,
} from "#agent-job/volumes.ts";
import {
  DATA_VOLUME,
  ETCD_CONTAINER,
  ETCDUTL_CONTAINER,
  FETCH_CONTAINER,
  VERIFY_CONTAINER,
  VOLUME_PATH,
  verificationJobName,
} from "#api/names.ts";
import { etcdResources } from "#backup/desired/etcd-resources.ts";
import { jobOf } from "#backup/desired/job-shape.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Draft, Job } from "#kube/kinds.ts";

// Four containers. The agent fetches the object, etcdutl makes a data directory, etcd runs as a sidecar, and the agent
// compares its data. Both etcdutl and etcd are of the backed-up release. All data is on an emptyDir volume. Only the
// fetching container gets Secrets; etcd is reachable only from its pod.

const WORK_DIR = `${VOLUME_PATH}/${WORK_DIR_PREFIX}verify`;
const DATA_DIR = `${WORK_DIR}/data`;
const CLIENT_URL = "http://127.0.0.1:2379";

/** Command of the throw-away etcd; without fsync, since its data is not kept. */
export const VERIFIED_ETCD_COMMAND: readonly string[] = [
  "etcd",
  `--data-dir=${DATA_DIR}`,
  `--listen-client-urls=${CLIENT_URL}`,
  `--advertise-client-urls=${CLIENT_URL}`,
  "--listen-peer-urls=http://127.0.0.1:2380",
  "--unsafe-no-fsync",
  "--log-level=warn",
];

/** Exit codes of etcdutl that a retry would repeat. */
const TOOL_FAILURES = [1, 2];
/**
 * Time limit for all attempts of a Job, in seconds: an hour, and a second for each MiB. A slower verification ends, and
 * is tried again later.
 */
const DEADLINE_SECONDS = 3_600;
const BYTES_PER_SECOND = 1024 * 1024;
/** Space for etcd's log files, in bytes, in addition to the snapshot and its data. */
const LOG_BYTES = 512 * 1024 * 1024;

/**
 * The Job that restores the stored object to a throw-away etcd and compares its data with the manifest.
 * @param image the operator's own @param etcd image of the etcd release that was backed up
 */
export function verificationJob(snapshot: BackupSnapshot, target: Target, image: string, etcd: string): Draft<Job> {
  const { metadata, spec, status } = snapshot.backup;
  const name = verificationJobName(metadata.uid);
  const work = { mount: { name: DATA_VOLUME, mountPath: VOLUME_PATH } };
  const bytes = status?.object?.bytes;
  const roomBytes = bytes === undefined ? undefined : 2 * bytes + LOG_BYTES;
  const size = roomBytes === undefined ? {} : { sizeLimit: String(roomBytes) };
  const source = readOnly([
    ...destinationVolumes(target, spec.podTemplate),
    ...encryptionVolumes(spec.encryption?.keySecretRef),
  ]);
  const agent = { image, ...agentSettings(spec.podTemplate) };
  const tool = {
    image: etcd,
    pullPolicy: snapshot.cluster?.spec.image?.pullPolicy,
    resources: etcdResources(snapshot, roomBytes),
    volumes: [work],
  };
  const restore = ["snapshot", "restore", `${WORK_DIR}/${SNAPSHOT_FILE}`, `--data-dir=${DATA_DIR}`];
  const verify: VerifyTask = { kind: "verify", endpoint: CLIENT_URL, workDir: WORK_DIR };
  return jobOf(snapshot, target, name, {
    countsEvictions: true, // A pod that fills the disk of its node would fill one node after another.
    activeDeadlineSeconds: DEADLINE_SECONDS + Math.ceil((bytes ?? 0) / BYTES_PER_SECOND),
    hopeless: [
      { container: FETCH_CONTAINER, exitCodes: [NO_RETRY_EXIT_CODE] },
      { container: ETCDUTL_CONTAINER, exitCodes: TOOL_FAILURES },
      { container: VERIFY_CONTAINER, exitCodes: [NO_RETRY_EXIT_CODE] },
    ],
    initContainers: [
      agentContainer({
        ...agent,
        name: FETCH_CONTAINER,
        task: fetchTask(snapshot, target),
        volumes: [work, ...source],
      }),
      etcdutlContainer({ ...tool, name: ETCDUTL_CONTAINER, args: restore }),
      { ...etcdutlContainer({ ...tool, name: ETCD_CONTAINER, args: [] }), ...sidecar },
    ],
    containers: [agentContainer({ ...agent, name: VERIFY_CONTAINER, task: verify, volumes: [work] })],
    volumes: [{ name: DATA_VOLUME, emptyDir: size }, ...source.map(({ volume }) => volume)],
  });
}

const sidecar = { command: [...VERIFIED_ETCD_COMMAND], restartPolicy: "Always" } as const satisfies Partial<Container>;

function fetchTask({ backup }: BackupSnapshot, { location, key, credentials }: Target): FetchTask {
  const { metadata, spec, status } = backup;
  const sha256 = status?.object?.sha256;
  return {
    kind: "fetch",
    from: location,
    key,
    ...mountedCredentials(credentials),
    ...(spec.encryption === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    expect: { backupUID: metadata.uid, ...(sha256 === undefined ? {} : { sha256 }) },
    auth: "Lift",
    workDir: WORK_DIR,
  };
}
