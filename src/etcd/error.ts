import { Code, ConnectError } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { tlsFailureText } from "./tls-failure.ts";

/**
 * Texts of the etcd errors that the operator handles individually. Most have no code in etcd's API, so they are
 * recognized by their text, the same in 3.5 to 3.7 (api/v3rpc/rpctypes/error.go in etcd's repository).
 * `LearnerNotReady` is etcd's `ErrGRPCLearnerNotReady`.
 */
export const REFUSAL_TEXTS = {
  /** No member has this ID: it was removed, or never existed. */
  MemberNotFound: "etcdserver: member not found",
  /**
   * A member has this ID already: the same peer URL was added twice within one second, and the ID is a hash over both.
   */
  MemberExist: "etcdserver: member ID already exist",
  /** A member has this peer URL already. */
  PeerURLExist: "etcdserver: Peer URLs already exists",
  /** The change would leave too few started members for a quorum. */
  MemberNotEnoughStarted: "etcdserver: re-configuration failed due to not enough started members",
  /** The member is a voter already. */
  MemberNotLearner: "etcdserver: can only promote a learner member",
  /** The learner has not caught up with the leader, or has not started. */
  LearnerNotReady: "etcdserver: can only promote a learner member which is in sync with leader",
  /** There is a learner already; etcd allows one by default (`--max-learners`). */
  TooManyLearners: "etcdserver: too many learner members in cluster",
  /** Not all members have been connected for long enough for the change to be safe (`--strict-reconfig-check`). */
  Unhealthy: "etcdserver: unhealthy cluster",
  /** The member has no leader: it sees no quorum. */
  NoLeader: "etcdserver: no leader",
  /** Only the leader answers this call. */
  NotLeader: "etcdserver: not leader",
  /** The target of the leader transfer is a learner or not a member. */
  BadLeaderTransferee: "etcdserver: bad leader transferee",
  /** The member is a learner, which serves only status and serializable reads. */
  NotSupportedForLearner: "etcdserver: rpc not supported for learner",
  /** Target is not one minor below the cluster version, which etcd raises only some moments after an upgrade. */
  InvalidDowngradeTargetVersion: "etcdserver: invalid downgrade target version",
  /** A downgrade is enabled already. */
  DowngradeInProcess: "etcdserver: cluster has a downgrade job in progress",
  /** There is no downgrade to cancel. */
  NoInflightDowngrade: "etcdserver: no inflight downgrade job",
  /** The requested revision has been compacted. */
  Compacted: "etcdserver: mvcc: required revision has been compacted",
  /** The alarm CORRUPT is raised. */
  Corrupt: "etcdserver: corrupt cluster",
  /** The alarm NOSPACE is raised. */
  NoSpace: "etcdserver: mvcc: database space exceeded",
  /** No user has this name. Also for an administrative call by a client that is not a known user. */
  UserNotFound: "etcdserver: user name not found",
  /** A user has this name already. */
  UserAlreadyExist: "etcdserver: user name already exists",
  /** Auth is enabled and the call carries no user; or the name of the user to add is empty. */
  UserEmpty: "etcdserver: user name is empty",
  /** No role has this name. */
  RoleNotFound: "etcdserver: role name not found",
  /** A role has this name already. */
  RoleAlreadyExist: "etcdserver: role name already exists",
  /** The user does not have the role to revoke. */
  RoleNotGranted: "etcdserver: role is not granted to the user",
  /** The role does not have the permission to revoke. */
  PermissionNotGranted: "etcdserver: permission is not granted to the role",
  /** Auth is enabled, and the calling user lacks the permission. */
  PermissionDenied: "etcdserver: permission denied",
  /** Logging in is impossible while auth is not enabled. */
  AuthNotEnabled: "etcdserver: authentication is not enabled",
  /** Unknown user or wrong password. */
  AuthFailed: "etcdserver: authentication failed, invalid user ID or password",
  /** The user has no password: it authenticates by its client certificate. */
  NoPasswordUser: "auth: authentication failed, password was given for no password user",
  /** The token has expired, or was issued before auth was enabled. */
  InvalidAuthToken: "etcdserver: invalid auth token",
  /**
   * Forbidden while auth is enabled: deleting user root, or its role root, would make it impossible to disable auth.
   */
  InvalidAuthMgmt: "etcdserver: invalid auth management",
  /** Users or roles have changed during the call. Nothing was done; a retry may succeed. */
  AuthOldRevision: "etcdserver: revision of auth store is old",
  /** Enabling auth requires a user root. */
  RootUserNotExist: "etcdserver: root user does not exist",
  /** Enabling auth requires that user root has the role root. */
  RootRoleNotExist: "etcdserver: root user does not have root role",
} as const;

/** Name of an etcd error that the operator handles individually. */
export type EtcdRefusal = keyof typeof REFUSAL_TEXTS;

const REFUSALS: ReadonlyMap<string, EtcdRefusal> = new Map(
  Object.entries(REFUSAL_TEXTS).map(([refusal, text]) => [text, refusal as EtcdRefusal]),
);

/** The etcd error that caused an error of the client. Undefined for every error not in REFUSAL_TEXTS. */
export function refusalOf(thrown: unknown): EtcdRefusal | undefined {
  if (!(thrown instanceof OperatorError) || !(thrown.cause instanceof ConnectError)) return undefined;
  return REFUSALS.get(thrown.cause.rawMessage);
}

/** A call that failed. */
interface FailedCall {
  /** Name of the gRPC method. Example: `MemberList` */
  readonly method: string;
  readonly address: string;
  /** The caller's own signal, without the deadline. */
  readonly signal: AbortSignal;
  /** The Secret with our client certificate. Undefined when it is not from a Secret. */
  readonly secretName?: string | undefined;
}

/**
 * Translates an error of the transport to an OperatorError:
 * - an OperatorError thrown by us before anything was sent: returned unchanged
 * - aborted by the caller's signal: `Cancelled`
 * - an error sent by the member that is not temporary: `EtcdRejected`
 * - no answer, or a temporary error: `EtcdUnavailable`; a change may or may not have happened
 */
export function translateError(call: FailedCall, thrown: unknown): OperatorError {
  const failure = ConnectError.from(thrown);
  if (failure.cause instanceof OperatorError) return failure.cause;
  const why = tlsFailureText(failure, call.secretName) ?? failure.rawMessage;
  const message = `${call.method} at ${call.address}: ${why}`;
  if (call.signal.aborted) return new OperatorError("Cancelled", message, { cause: failure });
  return new OperatorError(isRefusal(failure) ? "EtcdRejected" : "EtcdUnavailable", message, { cause: failure });
}

/**
 * Prefix of etcd's timeout errors, which leave it open whether the change happened. A failed leader transfer has it
 * with code `Unknown`, so the code alone is not sufficient.
 */
const TIMED_OUT = "etcdserver: request timed out";

function isRefusal(failure: ConnectError): boolean {
  if (!isAnswer(failure)) return false;
  // etcd sends some of these errors with code Unavailable, depending on its version. With any of them, nothing was
  // done.
  if (REFUSALS.has(failure.rawMessage)) return true;
  if (failure.rawMessage.startsWith(TIMED_OUT)) return false;
  // A member that is stopping answers Canceled: the call may succeed at another time.
  return ![Code.Unavailable, Code.DeadlineExceeded, Code.Canceled].includes(failure.code);
}

/** Whether the member sent the error. A failed connection or TLS handshake has no gRPC status. */
function isAnswer(failure: ConnectError): boolean {
  return failure.metadata.has("grpc-status");
}
