import { type FailureReport, failureIn } from "./failure.ts";
import type { Compression } from "./task.ts";

export {
  type BackupFailureReason,
  type FailureReason,
  type FailureReport,
  failure,
  isOfBackup,
  isOfReplay,
  type ReplayFailureReason,
} from "./failure.ts";

// What the agent reports at its end and during its work. The operator validates it, since a pod wrote it.

/** Result of a task. */
export type AgentReport =
  | BackupReport
  | CheckReport
  | DeleteReport
  | FetchReport
  | FinishReport
  | VerifyReport
  | ReplayReport
  | ListReport
  | FailureReport;

export interface BackupReport {
  readonly ok: true;
  readonly kind: "backup";
  readonly object: BackupObject;
}

export interface DeleteReport {
  readonly ok: true;
  readonly kind: "delete";
  /** False when no object had this backup's uid. */
  readonly deleted: boolean;
}

/** Object and manifest are stored. When they are not, the task fails. */
export interface CheckReport {
  readonly ok: true;
  readonly kind: "check";
}

export interface FetchReport {
  readonly ok: true;
  readonly kind: "fetch";
  readonly snapshot: FetchedSnapshot;
}

export interface FinishReport {
  readonly ok: true;
  readonly kind: "finish";
  /** False when an earlier attempt had moved the data. */
  readonly moved: boolean;
  /** Revision with which the member starts, in decimal: the snapshot's plus the bump by `etcdutl`. */
  readonly revision: string;
  /** SHA-256 of the snapshot in the data directory, in hexadecimal: an earlier attempt may have fetched another object. */
  readonly sha256: string;
}

export interface VerifyReport {
  readonly ok: true;
  readonly kind: "verify";
  /** Revision at which the data was compared, in decimal. */
  readonly revision: string;
  /** Number of keys at that revision. */
  readonly keys: number;
  /**
   * Hash of all keys and values up to the revision, as `etcdctl endpoint hashkv` prints it. Undefined when it could not
   * be compared; `message` has the reason.
   */
  readonly hash?: number;
  /** For users: what was compared. */
  readonly message: string;
}

export interface ReplayReport {
  readonly ok: true;
  readonly kind: "replay";
  readonly snapshot: ReplayedSnapshot;
}

/** Result of a ListTask. The list itself is on the standard output. */
export interface ListReport {
  readonly ok: true;
  readonly kind: "list";
  /** Number of manifests in the store. */
  readonly backups: number;
}

/** A snapshot to which archived changes were added. */
export interface ReplayedSnapshot {
  /** Key of the backup's object. */
  readonly key: string;
  /** The backup's revision, in decimal. */
  readonly from: string;
  /** The resulting revision, in decimal. */
  readonly revision: string;
  /** When the last replayed change was received, ISO 8601, UTC; undefined when there was none. */
  readonly lastAt?: string;
}

/** A stored backup. */
export interface BackupObject {
  readonly key: string;
  /** Size of the snapshot as etcd sent it. */
  readonly bytes: number;
  /** Size of the object: less when compressed, a little more when encrypted. */
  readonly storedBytes: number;
  /** SHA-256 of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256: string;
  /**
   * The cluster's revision just before the snapshot, in decimal, from a linearizable read of the member. The snapshot
   * contains everything acknowledged before, and perhaps later revisions.
   */
  readonly revision: string;
  /** etcd release of the member that sent the snapshot. */
  readonly etcdVersion: string;
  /** Hexadecimal. */
  readonly clusterID: string;
  /** The member that was read, in hexadecimal. */
  readonly memberID: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly completedAt: string;
  readonly compression: Compression;
  readonly encrypted: boolean;
  /** ID of the encryption key, see archive/key.ts; undefined for an unencrypted object. */
  readonly keyID?: string;
}

/** A snapshot that was fetched to a directory. */
export interface FetchedSnapshot {
  readonly key: string;
  /** Size of the snapshot as etcd sent it. */
  readonly bytes: number;
  /** SHA-256 of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256: string;
  /** Highest revision in the snapshot, in decimal: at least BackupObject.revision. */
  readonly revision: string;
  /**
   * Release of the member that was read; without a manifest the cluster version, which is a minor release ("3.6.0").
   */
  readonly etcdVersion?: string;
  /** ID of the source cluster, in hexadecimal; like `clusterUID` and `backupUID` known only from a manifest. */
  readonly clusterID?: string;
  /** Uid of the EtcdCluster. */
  readonly clusterUID?: string;
  readonly backupUID?: string;
  /** False for a snapshot that another tool stored: only etcd's own checksum verifies it. */
  readonly hasManifest: boolean;
}

/** Progress of a task. */
export interface Progress {
  readonly phase: ProgressPhase;
  /** Bytes of the snapshot. */
  readonly bytesRead: number;
  /** Bytes sent to the object store, or written to the volume. */
  readonly bytesStored: number;
  /** Approximate size of the snapshot: that of the member's database; 0 until it is known. */
  readonly bytesExpected: number;
  /** When the agent started, ISO 8601, UTC. */
  readonly since: string;
  /** Progress of an archive, once it follows a member. */
  readonly archive?: ArchiveProgress;
}

/** State of an archive. */
export interface ArchiveProgress {
  /** Cluster ID of the etcd, in hexadecimal; undefined until the agent has reached a member. */
  readonly clusterID?: string | undefined;
  /** Revision since which there has been no gap, in decimal: a backup must contain everything before it. */
  readonly from: string;
  /** When the present history began, ISO 8601, UTC, if there was an earlier one: older backups belong to that. */
  readonly since?: string | undefined;
  /** The last stored revision, in decimal. */
  readonly revision: string;
  /** Time up to which all changes are stored, ISO 8601, UTC. */
  readonly time: string;
  /** Number of gaps that this process found. */
  readonly gaps: number;
  /** Number and stored size of the objects that this process stored. */
  readonly objects: number;
  readonly bytes: number;
  /** Why archiving fails at the moment. */
  readonly message?: string | undefined;
}

export type ProgressPhase =
  | "Starting"
  | "Copying"
  | "Finishing"
  | "Deleting"
  | "Verifying"
  | "Archiving"
  | "Replaying"
  | "Done";

/** Size limit of a termination message, in bytes: the kubelet truncates it. */
const MAX_BYTES = 4096;

/** The report within the kubelet's limit: only a failure's message can be too long, and is cut. */
export function reportText(report: AgentReport): string {
  let text = JSON.stringify(report);
  if (report.ok) return text;
  // A character takes one to six bytes in JSON, so the length is found by trying.
  for (let { message } = report; Buffer.byteLength(text) > MAX_BYTES; ) {
    message = message.slice(0, Math.floor(message.length * 0.9));
    text = JSON.stringify({ ...report, message: `${message}…` });
  }
  return text;
}

/** Parses the output of `reportText`; undefined for any other text. */
export function reportIn(text: string): AgentReport | undefined {
  const value = parsed(text);
  if (value?.ok === false) {
    return failureIn(value.reason, value.message);
  }
  if (value?.ok !== true) return undefined;
  switch (value.kind) {
    case "check":
      return { ok: true, kind: "check" };
    case "delete":
      return { ok: true, kind: "delete", deleted: value.deleted === true };
    case "backup": {
      const object = objectIn(value.object);
      return object && { ok: true, kind: "backup", object };
    }
    case "fetch": {
      const snapshot = fieldsIn<FetchedSnapshot>(value.snapshot, FETCHED_FIELDS);
      return snapshot && { ok: true, kind: "fetch", snapshot };
    }
    case "finish":
      return fieldsIn<FinishReport>(value, FINISH_FIELDS);
    case "replay": {
      const snapshot = fieldsIn<ReplayedSnapshot>(value.snapshot, REPLAYED_FIELDS);
      return snapshot && { ok: true, kind: "replay", snapshot };
    }
    case "verify":
      return fieldsIn<VerifyReport>(value, VERIFY_FIELDS);
    case "list":
      return fieldsIn<ListReport>(value, { ok: "boolean", kind: "string", backups: "number" });
    default:
      return undefined;
  }
}

/** Parses the answer to `GET /progress`; undefined for any other text. */
export function progressIn(text: string): Progress | undefined {
  const value = parsed(text);
  if (value === undefined) return undefined;
  if (!hasFields(value, PROGRESS_FIELDS)) return undefined;
  const archive = value.archive === undefined ? {} : fieldsIn<ArchiveProgress>(value.archive, ARCHIVE_FIELDS);
  return archive === undefined ? undefined : (value as unknown as Progress);
}

const PROGRESS_FIELDS = {
  phase: "string",
  bytesRead: "number",
  bytesStored: "number",
  bytesExpected: "number",
  since: "string",
};

const ARCHIVE_FIELDS: FieldsOf<ArchiveProgress> = {
  clusterID: "string?",
  from: "string",
  since: "string?",
  revision: "string",
  time: "string",
  gaps: "number",
  objects: "number",
  bytes: "number",
  message: "string?",
};

const OBJECT_FIELDS: FieldsOf<BackupObject> = {
  key: "string",
  bytes: "number",
  storedBytes: "number",
  sha256: "string",
  revision: "string",
  etcdVersion: "string",
  clusterID: "string",
  memberID: "string",
  startedAt: "string",
  completedAt: "string",
  compression: "string",
  encrypted: "boolean",
  keyID: "string?",
};

const FETCHED_FIELDS: FieldsOf<FetchedSnapshot> = {
  key: "string",
  bytes: "number",
  sha256: "string",
  revision: "string",
  etcdVersion: "string?",
  clusterID: "string?",
  clusterUID: "string?",
  backupUID: "string?",
  hasManifest: "boolean",
};

const REPLAYED_FIELDS: FieldsOf<ReplayedSnapshot> = {
  key: "string",
  from: "string",
  revision: "string",
  lastAt: "string?",
};

const FINISH_FIELDS: FieldsOf<FinishReport> = {
  ok: "boolean",
  kind: "string",
  moved: "boolean",
  revision: "string",
  sha256: "string",
};

const VERIFY_FIELDS: FieldsOf<VerifyReport> = {
  ok: "boolean",
  kind: "string",
  revision: "string",
  keys: "number",
  hash: "number?",
  message: "string",
};

function objectIn(value: unknown): BackupObject | undefined {
  const object = fieldsIn<BackupObject>(value, OBJECT_FIELDS);
  return object?.compression === "None" || object?.compression === "Zstd" ? object : undefined;
}

function fieldsIn<T extends object>(value: unknown, fields: FieldsOf<T>): T | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return hasFields(value, fields) ? (value as T) : undefined;
}

/** Result of `typeof` for each field; with a "?" the field is optional. */
type FieldsOf<T> = Readonly<Record<keyof T, string>>;

function hasFields(value: object, fields: Readonly<Record<string, string>>): boolean {
  return Object.entries(fields).every(([field, type]) => {
    const is = typeof value[field as keyof typeof value];
    return is === type || type === `${is}?` || (is === "undefined" && type.endsWith("?"));
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // A container that was killed leaves half a text, or that of another process.
  }
}
