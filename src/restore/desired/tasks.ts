import {
  CHANGES_FOLDER,
  type FetchTask,
  type FinishTask,
  REPLAY_ETCD_FLAGS,
  type ReplayTask,
  SNAPSHOT_FILE,
  type Until,
} from "#agent/task.ts";
import { KEY_FILE, MOUNTS, mountedCredentials } from "#agent-job/volumes.ts";
import { doClientsShowCertificates, isAuthWanted } from "#api/auth.ts";
import { VOLUME_PATH } from "#api/names.ts";
import { restoredIdentity, restoredSpec } from "#restore/identity.ts";
import type { SourceObject } from "#restore/object.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";

/**
 * Added to the snapshot's revision, so that revisions which clients saw after the backup are never reused with other
 * data. Older revisions count as compacted, so watches from them are cancelled. A thousand million: a cluster at full
 * speed takes weeks to write as many.
 */
export const BUMP = 1_000_000_000;

/** etcd's data directory of the member (peer/desired/etcd-flags.ts). */
export const DATA_DIR = `${VOLUME_PATH}/data`;

/** On the member's own volume, so that the result can be renamed into place. */
function workDir({ restore }: RestoreSnapshot): string {
  return `${VOLUME_PATH}/.restore-${restore.metadata.uid}`;
}

function restoredDir(snapshot: RestoreSnapshot): string {
  return `${workDir(snapshot)}/data`;
}

/** Downloads the snapshot, verifies it, and stores it as etcd sent it. */
export function fetchTask(snapshot: RestoreSnapshot, { target, keySecretRef, expect }: SourceObject): FetchTask {
  const { location, key, credentials } = target;
  return {
    kind: "fetch",
    from: location,
    key,
    ...mountedCredentials(credentials),
    ...(keySecretRef === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    ...(expect === undefined ? {} : { expect }),
    ...(mayLogIn(snapshot) ? { auth: untilOf(snapshot) === undefined ? ("Keep" as const) : ("Lift" as const) } : {}),
    workDir: workDir(snapshot),
  };
}

/** Whether the operator can log in with a client certificate when the restored etcd has authentication enabled. */
function mayLogIn({ restore }: RestoreSnapshot): boolean {
  const spec = restoredSpec(restore);
  return isAuthWanted(spec) === true && doClientsShowCertificates(spec);
}

/** URLs of the throw-away etcd: only its own pod can reach them. */
const REPLICA = { name: "replica", client: "http://127.0.0.1:2379", peer: "http://127.0.0.1:2380" };

function replicaDir(snapshot: RestoreSnapshot): string {
  return `${workDir(snapshot)}/replica`;
}

/** Arguments that build the throw-away etcd's data with the source's revisions. */
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

/**
 * Replays changes to the throw-away etcd up to the point in time, and replaces the fetched snapshot with that of the
 * result.
 */
export function replayTask(
  snapshot: RestoreSnapshot,
  { target, keySecretRef }: SourceObject,
  until: Until,
): ReplayTask {
  const { location, key, credentials } = target;
  const folder = key.slice(0, key.lastIndexOf("/") + 1);
  return {
    kind: "replay",
    from: location,
    key,
    ...mountedCredentials(credentials),
    ...(keySecretRef === undefined ? {} : { encryption: { keyFile: `${MOUNTS.encryption}/${KEY_FILE}` } }),
    prefix: `${folder}${CHANGES_FOLDER}`,
    until,
    endpoint: REPLICA.client,
    workDir: workDir(snapshot),
  };
}

/** End of a point-in-time restore; undefined for a restore of the snapshot alone. */
export function untilOf({ restore }: RestoreSnapshot): Until | undefined {
  const { revision, time } = restore.spec.until ?? {};
  if (revision !== undefined) return { revision };
  return time === undefined ? undefined : { time };
}

/** Arguments that turn the snapshot into this member's data directory. */
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

/** Moves the data directory into place. */
export function finishTask(snapshot: RestoreSnapshot): FinishTask {
  return {
    kind: "finish",
    workDir: workDir(snapshot),
    restored: restoredDir(snapshot),
    dataDir: DATA_DIR,
    restoreUID: snapshot.restore.metadata.uid,
  };
}
