/** Reasons of failures, and whether a retry may succeed without any change by a user. */
const FAILURES = {
  /** No answering member knows a leader. */
  NoQuorum: { retry: true },
  /** No member answers, or each failed or stalled while it was read. */
  SourceUnreachable: { retry: true },
  /** etcd's certificate is not trusted, or ours is rejected. */
  SourceTLS: { retry: false },
  /** etcd rejects the user, or the user may not take snapshots (which needs the role root). */
  SourceAuth: { retry: false },
  /** The endpoints belong to another cluster. */
  WrongCluster: { retry: false },
  /**
   * The data does not match etcd's checksum, or the alarm CORRUPT is raised. For a stored snapshot a retry cannot help
   * (run.ts).
   */
  SnapshotCorrupt: { retry: true },
  WrongCredentials: { retry: false },
  AccessDenied: { retry: false },
  NoSuchBucket: { retry: false },
  /** The key has an object that is not of this backup. */
  ObjectExists: { retry: false },
  /** A concurrent attempt at the same backup has written. */
  AnotherAttempt: { retry: true },
  NoSpace: { retry: false },
  StoreUnreachable: { retry: true },
  StoreTLS: { retry: false },
  /** The key is invalid, or not the expected one. */
  BadKey: { retry: false },
  /** The task is invalid. */
  BadTask: { retry: false },
  /** The agent was stopped. */
  Stopped: { retry: true },
  /** A defect of the agent, or an answer that it does not know. */
  Internal: { retry: true },
} as const;

/** Reasons specific to tasks with stored snapshots; all other reasons can occur there as well. */
const RESTORE_FAILURES = {
  /** The key has no object. */
  NoSuchObject: { retry: false },
  /** Authentication is enabled in the snapshot; its members would reject the operator. */
  AuthEnabled: { retry: false },
  /** The data directory has data that is not of this restore. */
  DataExists: { retry: false },
  /** The throw-away member differs from the backup's manifest. */
  VerificationFailed: { retry: false },
} as const;

/** Reasons specific to point-in-time restores. */
const REPLAY_FAILURES = {
  /** An object of archived changes has changed, is missing, or belongs to another history. */
  ArchiveCorrupt: { retry: false },
  /** The archive lacks requested changes: it has a gap, begins later or ends earlier. */
  ArchiveGap: { retry: false },
  /** The throw-away member has an unexpected revision. */
  ReplayDiverged: { retry: true },
} as const;

export type BackupFailureReason = keyof typeof FAILURES;
export type FailureReason = BackupFailureReason | keyof typeof RESTORE_FAILURES | ReplayFailureReason;
export type ReplayFailureReason = keyof typeof REPLAY_FAILURES;

const ALL: Readonly<Record<FailureReason, { readonly retry: boolean }>> = {
  ...FAILURES,
  ...RESTORE_FAILURES,
  ...REPLAY_FAILURES,
};

export interface FailureReport<R extends FailureReason = FailureReason> {
  readonly ok: false;
  readonly reason: R;
  /** For users: what is wrong, where, and what to do. Never a secret. */
  readonly message: string;
  /** Whether a retry may succeed without any change by a user. */
  readonly retry: boolean;
}

export function failure(reason: FailureReason, message: string): FailureReport {
  return { ok: false, reason, message, retry: ALL[reason].retry };
}

/** Parses untrusted text; undefined when the reason is unknown. */
export function failureIn(reason: unknown, message: unknown): FailureReport | undefined {
  if (typeof reason !== "string" || !Object.hasOwn(ALL, reason) || typeof message !== "string") return undefined;
  return failure(reason as FailureReason, message);
}

/** Whether backups can fail with this reason. */
export function isOfBackup(report: FailureReport): report is FailureReport<BackupFailureReason> {
  return Object.hasOwn(FAILURES, report.reason);
}

/** Whether only point-in-time restores can fail with this reason. */
export function isOfReplay(reason: FailureReason): reason is ReplayFailureReason {
  return Object.hasOwn(REPLAY_FAILURES, reason);
}
