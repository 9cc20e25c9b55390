import type { StoreLocation } from "#objectstore/location.ts";

// What the operator and the agent agree on. The agent is a process of its own, in a Job that the operator makes: it gets its task as JSON
// in an environment variable, and secrets as files that only this Job mounts.

/** The environment variable that holds an AgentTask as JSON. */
export const TASK_VARIABLE = "AGENT_TASK";

/** Where the agent serves `GET /progress` (Progress as JSON) while it works. */
export const PROGRESS_PORT = 8080;
export const PROGRESS_PATH = "/progress";

/** Where the agent leaves its AgentReport as JSON; the kubelet shows it as the container's termination message. */
export const REPORT_FILE = "/dev/termination-log";

/** With this the process ends when another attempt would end like it; a Job can look at nothing else before it makes one. */
export const NO_RETRY_EXIT_CODE = 2;

/** Where the agent's bundle lies in the operator's image. */
export const AGENT_PROGRAM = "/app/agent.mjs";

/**
 * The container's command. What passes through is short-lived, so the old generation stays small; the young one is as large as some
 * chunks on their way, or they would be moved to the old one and stay there.
 */
export const AGENT_COMMAND: readonly string[] = [
  "/usr/local/bin/node",
  "--max-semi-space-size=2",
  "--max-old-space-size=64",
  AGENT_PROGRAM,
];

/** One thing to do; the process ends with it. */
export type AgentTask = BackupTask | DeleteTask | FetchTask | FinishTask | VerifyTask | ArchiveTask | ReplayTask;

/** Reads a snapshot of a cluster and stores it as one object, with a manifest beside it. */
export interface BackupTask {
  readonly kind: "backup";
  /** Of the EtcdBackup. What carries another uid is never touched; what carries this one is a former attempt of the same backup. */
  readonly backupUID: string;
  readonly source: EtcdSource;
  readonly destination: StoreLocation;
  readonly key: string;
  /** Where the destination's Secret is mounted. Undefined: the identity of the pod. */
  readonly credentialsDir?: string;
  readonly compression: Compression;
  readonly encryption?: Encryption;
  readonly about: BackupOrigin;
}

/** Deletes what a backup stored: the manifest, then the object, and only when they carry this uid. */
export interface DeleteTask {
  readonly kind: "delete";
  readonly backupUID: string;
  readonly destination: StoreLocation;
  readonly key: string;
  readonly credentialsDir?: string;
}

/**
 * Brings a stored snapshot to a directory, checked and as etcd sent it, for `etcdutl snapshot restore`. Only a whole one is to be seen there,
 * as the file SNAPSHOT_FILE.
 */
export interface FetchTask {
  readonly kind: "fetch";
  readonly from: StoreLocation;
  readonly key: string;
  /** Where the Secret of the store is mounted. Undefined: the identity of the pod. */
  readonly credentialsDir?: string;
  /** An object that is not encrypted is refused then, since somebody may have put it there instead of one that is. */
  readonly encryption?: Encryption;
  readonly expect?: ExpectedSnapshot;
  /**
   * What becomes of a snapshot whose etcd asks for users. Keep: so does the one that is made of it. Lift: a throw-away one does not, and a
   * ReplayTask switches it on again. Undefined: it is refused, since nobody could log in.
   */
  readonly auth?: "Keep" | "Lift";
  /** On the data volume; its name begins with WORK_DIR_PREFIX, since what is in it is deleted first. */
  readonly workDir: string;
  /** How many bytes must be free beyond the snapshot itself. Undefined: its size, since `etcdutl` makes a second copy. */
  readonly roomBytes?: number;
}

/** What the snapshot must be, whatever lies at the key. */
export interface ExpectedSnapshot {
  /** Of the EtcdBackup. */
  readonly backupUID?: string;
  /** Of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256?: string;
}

/** Example: `/var/lib/etcd/.restore-0a1b2c3d` */
export const WORK_DIR_PREFIX = ".restore-";

/** Below FetchTask.workDir. */
export const SNAPSHOT_FILE = "snapshot.db";

/**
 * Moves what `etcdutl` made of a snapshot to the place where a member's etcd looks for its data, all at once, and deletes the work directory.
 * What is there already is left alone: by this restore it is done, by anybody else it is refused.
 */
export interface FinishTask {
  readonly kind: "finish";
  /** Of the FetchTask. */
  readonly workDir: string;
  /** What `etcdutl` was given as `--data-dir`; below `workDir`. */
  readonly restored: string;
  /** Of the member; on the same volume as `workDir`. */
  readonly dataDir: string;
  /** Of the EtcdRestore; kept beside the data. */
  readonly restoreUID: string;
}

/** Asks a throw-away etcd, which was started with a fetched snapshot, whether everything is there that the backup's manifest tells. */
export interface VerifyTask {
  readonly kind: "verify";
  /** Client URL. Example: `http://127.0.0.1:2379` */
  readonly endpoint: string;
  /** Of the FetchTask, which left there what is to be expected. */
  readonly workDir: string;
}

/** Stores every change of a cluster as it happens, below a prefix, until it is told to stop; see changes/layout.ts. */
export interface ArchiveTask {
  readonly kind: "archive";
  readonly source: EtcdSource;
  readonly destination: StoreLocation;
  /** Of the keys of what is stored. By convention CHANGES_FOLDER beside the backups of the same cluster. */
  readonly prefix: string;
  readonly credentialsDir?: string;
  /** Undefined: what is stored is compressed and not encrypted. */
  readonly encryption?: Encryption;
  /** How old a change may get, in seconds, until it is stored. */
  readonly maxAgeSeconds: number;
  /** How many bytes of changes, before compression, go into one object; more only when one revision has more. */
  readonly maxBytes: number;
  /** What is older is deleted, in seconds. Undefined: nothing is. */
  readonly keepForSeconds?: number;
}

/**
 * Brings a throw-away etcd, which was started with the snapshot of a backup, to the state that the source had at a later revision or time, by
 * what an ArchiveTask has stored. Its snapshot then takes the place of SNAPSHOT_FILE.
 */
export interface ReplayTask {
  readonly kind: "replay";
  readonly from: StoreLocation;
  /** Of the backup's object. */
  readonly key: string;
  readonly credentialsDir?: string;
  readonly encryption?: Encryption;
  /** Of the archive's keys. */
  readonly prefix: string;
  readonly until: Until;
  /** Client URL of the throw-away etcd, which was started with REPLAY_ETCD_FLAGS: `http://127.0.0.1:` and a port, so that it is nobody else's. */
  readonly endpoint: string;
  /** Of the FetchTask. */
  readonly workDir: string;
}

/**
 * What a throw-away etcd is started with so that any revision fits into one transaction, no quota ends it, and no lease expires before it is
 * renewed. `--election-timeout` is what leases are granted for at least, and a half more.
 */
export const REPLAY_ETCD_FLAGS: readonly string[] = [
  "--max-txn-ops=1000000000",
  "--max-request-bytes=1073741824",
  "--quota-backend-bytes=-1",
  "--snapshot-count=1000",
  "--election-timeout=10000",
  "--unsafe-no-fsync",
];

/** Where the state is taken from. Always the same for whoever asks, since each member of a cluster is brought there by itself. */
export type Until =
  /** With this revision and nothing after it; in decimal. */
  | { readonly revision: string }
  /** With everything up to this time and nothing after it; ISO 8601. It is the archiver's clock that counts. */
  | { readonly time: string };

/** The archive's folder beside the backups of a cluster. */
export const CHANGES_FOLDER = "changes";

export type Compression = "None" | "Zstd";

export interface Encryption {
  /** A file with the key: 32 bytes, or their text in hexadecimal or base64. */
  readonly keyFile: string;
  /** Of the key that is meant, see archive/key.ts: another key in the file is refused before anything is read. Undefined: whatever is there. */
  readonly keyID?: string;
}

/** What the manifest tells of the backup's origin. */
export interface BackupOrigin {
  readonly namespace: string;
  readonly backupName: string;
  /** Undefined for an etcd that this operator does not run. */
  readonly clusterName?: string;
  readonly clusterUID?: string;
}

/** An etcd cluster, and how to get in. */
export interface EtcdSource {
  /** Client URLs, one at least; https: TLS. Example: `https://etcd-0.example:2379`. */
  readonly endpoints: readonly string[];
  /** In hexadecimal, as etcdctl prints it. Another cluster is refused. Undefined: they must all be of one. */
  readonly clusterID?: string;
  /** Where files are that TLS wants: `ca.crt` (else the system's authorities), `tls.crt` and `tls.key` (else no certificate is shown). */
  readonly tlsDir?: string;
  /** The name that certificates must carry. Undefined: the host of the URL. */
  readonly serverName?: string;
  /** Where the files `ETCD_USERNAME` and `ETCD_PASSWORD` are. Every endpoint must be https then. */
  readonly authDir?: string;
}
