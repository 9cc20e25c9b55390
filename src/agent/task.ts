import type { StoreLocation } from "#objectstore/location.ts";

// The contract between operator and agent. The agent is a process in a Job that the operator creates. It gets its task
// as JSON in an environment variable, and secrets as files that only this Job mounts.

/** The environment variable that holds an AgentTask as JSON. */
export const TASK_VARIABLE = "AGENT_TASK";

/** Where the agent serves `GET /progress` (Progress as JSON) while it works. */
export const PROGRESS_PORT = 8080;
export const PROGRESS_PATH = "/progress";

/** Where the agent leaves its AgentReport as JSON; the kubelet shows it as the container's termination message. */
export const REPORT_FILE = "/dev/termination-log";

/** Exit code for a failure that a retry would repeat; a Job's failure policy can examine only the exit code. */
export const NO_RETRY_EXIT_CODE = 2;

/** Path of the agent's bundle in the operator's image. */
export const AGENT_PROGRAM = "/app/agent.mjs";

/**
 * The container's command. Streamed data is short-lived, so the old generation stays small; the young generation holds
 * the chunks in transit, or they would be promoted and stay.
 */
export const AGENT_COMMAND: readonly string[] = [
  "/usr/local/bin/node",
  "--max-semi-space-size=2",
  "--max-old-space-size=64",
  AGENT_PROGRAM,
];

/** A task; the process ends with it. */
export type AgentTask =
  | BackupTask
  | CheckTask
  | DeleteTask
  | FetchTask
  | FinishTask
  | VerifyTask
  | ArchiveTask
  | ReplayTask
  | ListTask;

/** The Secret of a store in the pod. */
export interface MountedCredentials {
  /** Mount path of the Secret. Undefined: the pod's identity. */
  readonly credentialsDir?: string;
  /** Whether a mount without files is an error: a spec names the Secret, which may be created late. */
  readonly needsCredentials?: boolean;
}

/** Reads a snapshot of a cluster and stores it as one object, with a manifest beside it. */
export interface BackupTask extends MountedCredentials {
  readonly kind: "backup";
  /**
   * Uid of the EtcdBackup. Objects with another uid are never touched; those with this uid are of an earlier attempt.
   */
  readonly backupUID: string;
  readonly source: EtcdSource;
  readonly destination: StoreLocation;
  readonly key: string;
  readonly compression: Compression;
  readonly encryption?: Encryption;
  readonly about: BackupOrigin;
}

/** Deletes what a backup stored: the manifest, then the object, and only if they have this uid. */
export interface DeleteTask extends MountedCredentials {
  readonly kind: "delete";
  readonly backupUID: string;
  readonly destination: StoreLocation;
  readonly key: string;
}

/** Checks that a backup's object and manifest are still stored. It reads only the manifest. */
export interface CheckTask extends MountedCredentials {
  readonly kind: "check";
  readonly from: StoreLocation;
  readonly key: string;
  readonly expect: ExpectedSnapshot;
}

/**
 * Fetches a stored snapshot to a directory, verified and as etcd sent it, for `etcdutl snapshot restore`. The file
 * SNAPSHOT_FILE appears only when it is complete.
 */
export interface FetchTask extends MountedCredentials {
  readonly kind: "fetch";
  readonly from: StoreLocation;
  readonly key: string;
  /** Set: an unencrypted object is refused, since an attacker may have replaced the encrypted one. */
  readonly encryption?: Encryption;
  readonly expect?: ExpectedSnapshot;
  /**
   * How to treat a snapshot with authentication enabled. Keep: the restored etcd has it, too. Lift: the throw-away etcd
   * has none, and a ReplayTask enables it again; undefined: refused, since the operator could not log in.
   */
  readonly auth?: "Keep" | "Lift";
  /** On the data volume; its name begins with WORK_DIR_PREFIX, and its old content is deleted first. */
  readonly workDir: string;
  /** Bytes that must be free beyond the snapshot. Undefined: its size, since `etcdutl` makes a copy. */
  readonly roomBytes?: number;
}

/** Prints which backups and archived changes a store has. People run it after everything but the store is lost. */
export interface ListTask extends MountedCredentials {
  readonly kind: "list";
  readonly from: StoreLocation;
  /** Beginning of the keys. Undefined: all. */
  readonly prefix?: string;
}

/** Requirements on the snapshot. */
export interface ExpectedSnapshot {
  /** Uid of the EtcdBackup. */
  readonly backupUID?: string;
  /** SHA-256 of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256?: string;
}

/** Example: `/var/lib/etcd/.restore-0a1b2c3d` */
export const WORK_DIR_PREFIX = ".restore-";

/** File in FetchTask.workDir. */
export const SNAPSHOT_FILE = "snapshot.db";

/**
 * Moves the output of `etcdutl` to the member's data directory in one rename, and deletes the work directory. Existing
 * data stays: the task succeeds if it is of this restore, else it fails.
 */
export interface FinishTask {
  readonly kind: "finish";
  /** `workDir` of the FetchTask. */
  readonly workDir: string;
  /** `--data-dir` of `etcdutl`; below `workDir`. */
  readonly restored: string;
  /** The member's data directory; on the same volume as `workDir`. */
  readonly dataDir: string;
  /** Uid of the EtcdRestore; stored with the data. */
  readonly restoreUID: string;
}

/** Verifies that a throw-away etcd, started with a fetched snapshot, matches the backup's manifest. */
export interface VerifyTask {
  readonly kind: "verify";
  /** Client URL. Example: `http://127.0.0.1:2379` */
  readonly endpoint: string;
  /** `workDir` of the FetchTask, which wrote the expectation there. */
  readonly workDir: string;
}

/** Stores every change of a cluster as it happens, below a prefix, until it is stopped; see changes/layout.ts. */
export interface ArchiveTask extends MountedCredentials {
  readonly kind: "archive";
  readonly source: EtcdSource;
  readonly destination: StoreLocation;
  /** Prefix of the stored keys; by convention CHANGES_FOLDER beside the backups of the same cluster. */
  readonly prefix: string;
  /** Undefined: objects are compressed but not encrypted. */
  readonly encryption?: Encryption;
  /** Maximum time from a change until it is stored, in seconds. */
  readonly maxAgeSeconds: number;
  /** Maximum bytes of changes in an object, before compression; a larger revision gets an object of its own. */
  readonly maxBytes: number;
  /** Age in seconds after which objects are deleted. Undefined: never. */
  readonly keepForSeconds?: number;
}

/**
 * Replays the changes that an ArchiveTask stored to a throw-away etcd, started with a backup's snapshot, up to a
 * revision or time. A snapshot of the result replaces SNAPSHOT_FILE.
 */
export interface ReplayTask extends MountedCredentials {
  readonly kind: "replay";
  readonly from: StoreLocation;
  /** Key of the backup's object. */
  readonly key: string;
  readonly encryption?: Encryption;
  /** Prefix of the archive's keys. */
  readonly prefix: string;
  readonly until: Until;
  /**
   * Client URL of the throw-away etcd, which was started with REPLAY_ETCD_FLAGS: `http://127.0.0.1:` and a port, so
   * that only this pod reaches it.
   */
  readonly endpoint: string;
  /** `workDir` of the FetchTask. */
  readonly workDir: string;
}

/**
 * Flags of the throw-away etcd: any revision fits into one transaction, there is no quota, and leases outlive their
 * renewal interval. The shortest TTL of a lease is 1.5 times `--election-timeout`.
 */
export const REPLAY_ETCD_FLAGS: readonly string[] = [
  "--max-txn-ops=1000000000",
  "--max-request-bytes=1073741824",
  "--quota-backend-bytes=-1",
  "--snapshot-count=1000",
  "--election-timeout=10000",
  "--unsafe-no-fsync",
];

/** End of a replay. Each member replays by itself, so the result must not depend on the member. */
export type Until =
  /** The state at this revision, in decimal. */
  | { readonly revision: string }
  /** The state at this time, ISO 8601, by the archiver's clock. */
  | { readonly time: string };

/** Folder of the archive beside a cluster's backups. */
export const CHANGES_FOLDER = "changes";

export type Compression = "None" | "Zstd";

export interface Encryption {
  /** File with the key: 32 bytes, or their text in hexadecimal or base64. */
  readonly keyFile: string;
  /** Expected ID of the key, see archive/key.ts: another key is refused before anything is read. Undefined: any key. */
  readonly keyID?: string;
}

/** Origin of the backup, for its manifest. */
export interface BackupOrigin {
  readonly namespace: string;
  readonly backupName: string;
  /** Undefined for an etcd that this operator does not run. */
  readonly clusterName?: string;
  readonly clusterUID?: string;
}

/** An etcd cluster, with its credentials. */
export interface EtcdSource {
  /** Client URLs, at least one; https: TLS. Example: `https://etcd-0.example:2379`. */
  readonly endpoints: readonly string[];
  /** Required cluster ID, in hexadecimal as etcdctl prints it. Undefined: all endpoints must be of one cluster. */
  readonly clusterID?: string;
  /**
   * Directory of the TLS files: `ca.crt` (default: the system's CAs), `tls.crt` and `tls.key` (default: no client
   * certificate).
   */
  readonly tlsDir?: string;
  /** Name that server certificates must have. Undefined: the host of the URL. */
  readonly serverName?: string;
  /** Directory of the files `ETCD_USERNAME` and `ETCD_PASSWORD`. Every endpoint must be https then. */
  readonly authDir?: string;
}
