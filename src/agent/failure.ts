/** Why a task failed, and whether another attempt may succeed although nobody changed anything. */
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
  /** What arrived is not what etcd's own checksum says; or the members' data is marked corrupt. Of what is stored it is so for ever (run.ts). */
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

/** Why a task with a stored snapshot failed that is no backup; every other reason may be one of these as well. */
const RESTORE_FAILURES = {
  /** There is nothing at the key. */
  NoSuchObject: { retry: false },
  /** Users and roles are switched on in the snapshot; its members would refuse the operator. */
  AuthEnabled: { retry: false },
  /** Data lies where the member's is to go, and is not of this restore. */
  DataExists: { retry: false },
  /** The throw-away member has not what the backup's manifest tells. */
  VerificationFailed: { retry: false },
} as const;

/** Why a restore to a point in time failed. */
const REPLAY_FAILURES = {
  /** An object of archived changes is not as it was stored, is missing, or belongs to another history. */
  ArchiveCorrupt: { retry: false },
  /** The archive lacks changes that are wanted: it has a gap there, begins later or ends before. */
  ArchiveGap: { retry: false },
  /** The throw-away member is not at the revision at which it should be. */
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
  /** For people: what is wrong, where, and what would do. Never a secret. */
  readonly message: string;
  /** Whether another attempt may succeed although nobody changed anything. */
  readonly retry: boolean;
}

export function failure(reason: FailureReason, message: string): FailureReport {
  return { ok: false, reason, message, retry: ALL[reason].retry };
}

/** What a text that may be anybody's says; undefined when it is no reason of ours. */
export function failureIn(reason: unknown, message: unknown): FailureReport | undefined {
  if (typeof reason !== "string" || !Object.hasOwn(ALL, reason) || typeof message !== "string") return undefined;
  return failure(reason as FailureReason, message);
}

/** Whether a backup may fail like this. */
export function isOfBackup(report: FailureReport): report is FailureReport<BackupFailureReason> {
  return Object.hasOwn(FAILURES, report.reason);
}

/** Whether only a restore to a point in time may fail like this. */
export function isOfReplay(reason: FailureReason): reason is ReplayFailureReason {
  return Object.hasOwn(REPLAY_FAILURES, reason);
}
