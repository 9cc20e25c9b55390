import {
  CHANGES_FOLDER,
  type FetchTask,
  type FinishTask,
  REPLAY_ETCD_FLAGS,
  type ReplayTask,
  SNAPSHOT_FILE,
  type Until,
} from "#agent/task.ts";
import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { VOLUME_PATH } from "#api/names.ts";
import { KEY_FILE, MOUNTS } from "#backup/desired/task.ts";
import { restoredIdentity, restoredSpec } from "#restore/identity.ts";
import type { SourceObject } from "#restore/object.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/**
 * Added to the revision of the snapshot, so that no revision which a client has seen after it was taken comes again with other data; all
 * before count as compacted, so that whoever watches from there is told. A thousand million: what a cluster writes in weeks at its fastest.
 */
export const BUMP = 1_000_000_000;

/** Where etcd looks for the member's data (peer/desired/etcd-flags.ts). */
export const DATA_DIR = `${VOLUME_PATH}/data`;

/** On the member's own volume: what is made there comes to its place by a rename. */
function workDir({ restore }: RestoreSnapshot): string {
  return `${VOLUME_PATH}/.restore-${restore.metadata.uid}`;
}

function restoredDir(snapshot: RestoreSnapshot): string {
  return `${workDir(snapshot)}/data`;
}

/** Brings the snapshot, checked and as etcd sent it. */
export function fetchTask(snapshot: RestoreSnapshot, { target, keySecret, expect }: SourceObject): FetchTask {
  const { location, key, credentials } = target;
  return {
    kind: "fetch",
    from: location,
    key,
    ...(credentials === undefined ? {} : { credentialsDir: MOUNTS.credentials }),
    ...(keySecret === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    ...(expect === undefined ? {} : { expect }),
    ...(mayLogIn(snapshot) ? { auth: untilOf(snapshot) === undefined ? ("Keep" as const) : ("Lift" as const) } : {}),
    workDir: workDir(snapshot),
  };
}

/** Whether the operator will be able to log in where etcd asks for users. */
function mayLogIn({ restore }: RestoreSnapshot): boolean {
  const spec = restoredSpec(restore);
  return isAuthWanted(spec) === true && doClientsShowCertificates(spec);
}

/** Where the throw-away etcd serves: of its pod alone. */
const REPLICA = { name: "replica", client: "http://127.0.0.1:2379", peer: "http://127.0.0.1:2380" };

function replicaDir(snapshot: RestoreSnapshot): string {
  return `${workDir(snapshot)}/replica`;
}

/** Makes the data of the throw-away etcd: with the revisions of the source. */
export function baseArguments(snapshot: RestoreSnapshot): readonly string[] {
  return [
    ...["snapshot", "restore", `${workDir(snapshot)}/${SNAPSHOT_FILE}`, `--data-dir=${replicaDir(snapshot)}`],
    ...[`--name=${REPLICA.name}`, `--initial-cluster=${REPLICA.name}=${REPLICA.peer}`],
    ...[`--initial-cluster-token=${snapshot.restore.metadata.uid}`, `--initial-advertise-peer-urls=${REPLICA.peer}`],
  ];
}

export function replicaArguments(snapshot: RestoreSnapshot): readonly string[] {
  return [
    ...[`--name=${REPLICA.name}`, `--data-dir=${replicaDir(snapshot)}`],
    ...[`--listen-client-urls=${REPLICA.client}`, `--advertise-client-urls=${REPLICA.client}`],
    ...[`--listen-peer-urls=${REPLICA.peer}`, `--initial-advertise-peer-urls=${REPLICA.peer}`],
    `--initial-cluster=${REPLICA.name}=${REPLICA.peer}`,
    ...REPLAY_ETCD_FLAGS,
  ];
}

/** Brings it to the point in time, and its snapshot to where that of the backup was. */
export function replayTask(snapshot: RestoreSnapshot, { target, keySecret }: SourceObject, until: Until): ReplayTask {
  const { location, key, credentials } = target;
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  return {
    kind: "replay",
    from: location,
    key,
    ...(credentials === undefined ? {} : { credentialsDir: MOUNTS.credentials }),
    ...(keySecret === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    prefix: `${folder}${CHANGES_FOLDER}`,
    until,
    endpoint: REPLICA.client,
    workDir: workDir(snapshot),
  };
}

/** Where a restore to a point in time ends; undefined for one of a snapshot alone. */
export function untilOf({ restore }: RestoreSnapshot): Until | undefined {
  const { revision, time } = restore.spec.until ?? {};
  if (revision !== undefined) return { revision };
  return time === undefined ? undefined : { time };
}

/** Makes a data directory of it, as that of this member. */
export function etcdutlArguments(snapshot: RestoreSnapshot, name: string): readonly string[] {
  const { token, members } = restoredIdentity(snapshot.restore);
  const url = members.find((member) => member.name === name)?.url ?? "";
  return [
    "snapshot",
    "restore",
    `${workDir(snapshot)}/${SNAPSHOT_FILE}`,
    `--data-dir=${restoredDir(snapshot)}`,
    `--name=${name}`,
    `--initial-cluster=${members.map((member) => `${member.name}=${member.url}`).join(",")}`,
    `--initial-cluster-token=${token}`,
    `--initial-advertise-peer-urls=${url}`,
    `--bump-revision=${BUMP}`,
    "--mark-compacted",
  ];
}

/** Puts that in its place. */
export function finishTask(snapshot: RestoreSnapshot): FinishTask {
  return {
    kind: "finish",
    workDir: workDir(snapshot),
    restored: restoredDir(snapshot),
    dataDir: DATA_DIR,
    restoreUID: snapshot.restore.metadata.uid,
  };
}
