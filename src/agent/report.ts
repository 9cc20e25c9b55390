import type { Compression } from "./task.ts";

// What the agent tells when it ends, and while it works. The reader is the operator: what it reads was written by a pod, and is checked.

/** How it went. */
export type AgentReport = BackupReport | DeleteReport | FailureReport;

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

export interface FailureReport {
  readonly ok: false;
  readonly reason: FailureReason;
  /** For people: what is wrong, where, and what would do. Never a secret. */
  readonly message: string;
  /** Whether another attempt may succeed although nobody changed anything. */
  readonly retry: boolean;
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

/** Why it failed, and whether another attempt may succeed although nobody changed anything. */
const FAILURES = {
  /** No member that answers knows a leader. */
  NoQuorum: { retry: true },
  /** No member answers, or each broke off or fell silent while it was read. */
  SourceUnreachable: { retry: true },
  /** etcd's certificate is not trusted, or ours is refused. */
  SourceTLS: { retry: false },
  /** etcd refuses the user, or the user may not take snapshots (that takes the role root). */
  SourceAuth: { retry: false },
  /** Somebody else answers at the endpoints. */
  WrongCluster: { retry: false },
  /** What arrived is not what etcd's own checksum says; or the members' data is marked corrupt. */
  SnapshotCorrupt: { retry: true },
  WrongCredentials: { retry: false },
  AccessDenied: { retry: false },
  NoSuchBucket: { retry: false },
  /** Something that is not of this backup lies at the key. */
  ObjectExists: { retry: false },
  /** Another attempt at the same backup wrote at the same time. */
  AnotherAttempt: { retry: true },
  NoSpace: { retry: false },
  StoreUnreachable: { retry: true },
  StoreTLS: { retry: false },
  /** The key is none, or not the one that is meant. */
  BadKey: { retry: false },
  /** The task says what cannot be done. */
  BadTask: { retry: false },
  /** The agent was told to stop. */
  Stopped: { retry: true },
  /** A defect of the agent, or an answer that it does not know. */
  Internal: { retry: true },
} as const;

export type FailureReason = keyof typeof FAILURES;

/** How far it is. */
export interface Progress {
  readonly phase: ProgressPhase;
  /** Of the snapshot. */
  readonly bytesRead: number;
  /** Handed to the object store. */
  readonly bytesStored: number;
  /** About how large the snapshot will be: the size of the member's database; 0 until it is known. */
  readonly bytesExpected: number;
  /** When the agent started, ISO 8601, UTC. */
  readonly since: string;
}

export type ProgressPhase = "Starting" | "Copying" | "Finishing" | "Deleting" | "Done";

export function failure(reason: FailureReason, message: string): FailureReport {
  return { ok: false, reason, message, retry: FAILURES[reason].retry };
}

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
    const { reason, message } = value;
    if (typeof reason !== "string" || !Object.hasOwn(FAILURES, reason) || typeof message !== "string") return undefined;
    return failure(reason as FailureReason, message);
  }
  if (value?.ok !== true) return undefined;
  if (value.kind === "delete") return { ok: true, kind: "delete", deleted: value.deleted === true };
  const object = value.kind === "backup" ? objectIn(value.object) : undefined;
  return object === undefined ? undefined : { ok: true, kind: "backup", object };
}

/** What `GET /progress` answered; undefined when it is something else. */
export function progressIn(text: string): Progress | undefined {
  const value = parsed(text);
  if (value === undefined) return undefined;
  return hasFields(value, PROGRESS_FIELDS) ? (value as unknown as Progress) : undefined;
}

const PROGRESS_FIELDS = {
  phase: "string",
  bytesRead: "number",
  bytesStored: "number",
  bytesExpected: "number",
  since: "string",
};

const OBJECT_FIELDS: Readonly<Record<keyof BackupObject, string>> = {
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

function objectIn(value: unknown): BackupObject | undefined {
  if (typeof value !== "object" || value === null || !hasFields(value, OBJECT_FIELDS)) return undefined;
  const object = value as BackupObject;
  return object.compression === "None" || object.compression === "Zstd" ? object : undefined;
}

function hasFields(value: object, fields: Readonly<Record<string, string>>): boolean {
  return Object.entries(fields).every(([field, type]) => typeof value[field as keyof typeof value] === type);
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // A container that was killed leaves half a text, or another process's.
  }
}
