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

// What the agent tells when it ends, and while it works. The reader is the operator: what it reads was written by a pod, and is checked.

/** How it went. */
export type AgentReport =
  | BackupReport
  | DeleteReport
  | FetchReport
  | FinishReport
  | VerifyReport
  | ReplayReport
  | FailureReport;

export interface BackupReport {
  readonly ok: true;
  readonly kind: "backup";
  readonly object: BackupObject;
}

export interface DeleteReport {
  readonly ok: true;
  readonly kind: "delete";
  /** False when there was nothing that carries this backup's uid. */
  readonly deleted: boolean;
}

export interface FetchReport {
  readonly ok: true;
  readonly kind: "fetch";
  readonly snapshot: FetchedSnapshot;
}

export interface FinishReport {
  readonly ok: true;
  readonly kind: "finish";
  /** False when a former attempt had done it. */
  readonly moved: boolean;
  /** With which the member starts, in decimal: that of the snapshot, and what `etcdutl` added to it. */
  readonly revision: string;
  /** Of the snapshot that lies there, in hexadecimal: a former attempt may have fetched another one. Agents of earlier releases do not say. */
  readonly sha256?: string;
}

export interface VerifyReport {
  readonly ok: true;
  readonly kind: "verify";
  /** At which it was compared, in decimal. */
  readonly revision: string;
  /** How many keys there are at it. */
  readonly keys: number;
  /** Of all keys and values up to it, as `etcdctl endpoint hashkv` prints it; undefined when it could not be compared, and `message` says why. */
  readonly hash?: number;
  /** For people: what was compared. */
  readonly message: string;
}

export interface ReplayReport {
  readonly ok: true;
  readonly kind: "replay";
  readonly snapshot: ReplayedSnapshot;
}

/** A snapshot to which archived changes were added. */
export interface ReplayedSnapshot {
  /** Of the backup's object. */
  readonly key: string;
  /** The backup's, in decimal. */
  readonly from: string;
  /** The one that was wanted, in decimal. */
  readonly revision: string;
  /** When the last change was heard of that was added, ISO 8601, UTC; undefined when none was. */
  readonly lastAt?: string;
}

/** What was stored. */
export interface BackupObject {
  readonly key: string;
  /** Size of the snapshot as etcd sent it. */
  readonly bytes: number;
  /** Size of the object: less when compressed, a little more when encrypted. */
  readonly storedBytes: number;
  /** Of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256: string;
  /**
   * The cluster's revision just before the snapshot was taken, in decimal, by a linearizable read of the member: the snapshot holds everything
   * up to it, which is all that was acknowledged before, and perhaps a little more.
   */
  readonly revision: string;
  /** Release of the member that was read. */
  readonly etcdVersion: string;
  /** In hexadecimal. */
  readonly clusterID: string;
  /** Who was read, in hexadecimal. */
  readonly memberID: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly completedAt: string;
  readonly compression: Compression;
  readonly encrypted: boolean;
}

/** A snapshot that was brought to a directory. */
export interface FetchedSnapshot {
  readonly key: string;
  /** Size of the snapshot as etcd sent it. */
  readonly bytes: number;
  /** Of the snapshot as etcd sent it, in hexadecimal. */
  readonly sha256: string;
  /** The highest that the snapshot holds, in decimal: at least BackupObject.revision. */
  readonly revision: string;
  /** Release of the member that was read; of a snapshot without a manifest the version of its cluster, which is a minor release ("3.6.0"). */
  readonly etcdVersion?: string;
  /** Of where it comes from, in hexadecimal; like `clusterUID` and `backupUID` only by a manifest. */
  readonly clusterID?: string;
  /** Of the EtcdCluster. */
  readonly clusterUID?: string;
  readonly backupUID?: string;
  /** False for a snapshot that some other tool has stored, of which nothing but etcd's own checksum is known. */
  readonly hasManifest: boolean;
}

/** How far it is. */
export interface Progress {
  readonly phase: ProgressPhase;
  /** Of the snapshot. */
  readonly bytesRead: number;
  /** Handed to the object store, or written to the volume. */
  readonly bytesStored: number;
  /** About how large the snapshot will be: the size of the member's database; 0 until it is known. */
  readonly bytesExpected: number;
  /** When the agent started, ISO 8601, UTC. */
  readonly since: string;
  /** Of a task that archives changes, once it follows. */
  readonly archive?: ArchiveProgress;
}

/** What is archived. */
export interface ArchiveProgress {
  /** Of which etcd, by its cluster ID in hexadecimal; agents of earlier releases do not say. */
  readonly clusterID?: string | undefined;
  /** Since this revision there has been no gap, in decimal: a backup must hold what is before it. */
  readonly from: string;
  /** When its present history began, ISO 8601, UTC, if there was another one: a backup from before is of that. */
  readonly since?: string | undefined;
  /** The last one that is stored, in decimal. */
  readonly revision: string;
  /** Up to when it is stored what happened, ISO 8601, UTC. */
  readonly time: string;
  /** Found by this process. */
  readonly gaps: number;
  /** Stored by this process, and how large they are as they lie there; agents of earlier releases do not say. */
  readonly objects?: number | undefined;
  readonly bytes?: number | undefined;
  /** Why nothing can be archived at this moment. */
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

/** The kubelet shows no more of a termination message, in bytes. */
const MAX_BYTES = 4096;

/** The report as the kubelet takes it: what is too long for it is the message of a failure, which is cut. */
export function reportText(report: AgentReport): string {
  let text = JSON.stringify(report);
  if (report.ok) return text;
  // A character takes from one byte to six in JSON, so the length is found by trying.
  for (let { message } = report; Buffer.byteLength(text) > MAX_BYTES; ) {
    message = message.slice(0, Math.floor(message.length * 0.9));
    text = JSON.stringify({ ...report, message: `${message}…` });
  }
  return text;
}

/** What `reportText` wrote; undefined for anything else. */
export function reportIn(text: string): AgentReport | undefined {
  const value = parsed(text);
  if (value?.ok === false) {
    return failureIn(value.reason, value.message);
  }
  if (value?.ok !== true) return undefined;
  switch (value.kind) {
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
    default:
      return undefined;
  }
}

/** What `GET /progress` answered; undefined when it is something else. */
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
  objects: "number?",
  bytes: "number?",
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
  sha256: "string?",
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

/** What `typeof` says of each field; with a "?" it may be missing. */
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
    return undefined; // A container that was killed leaves half a text, or another process's.
  }
}
