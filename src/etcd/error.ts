import { Code, ConnectError } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { tlsFailureText } from "./tls-failure.ts";

/**
 * The refusals that change what we do next, in etcd's own words (its error `ErrGRPCLearnerNotReady` is `LearnerNotReady` here).
 * etcd's API has no code for them: the text is the stable part, and this table is the only place that knows it.
 * Source: api/v3rpc/rpctypes/error.go in etcd's repository; the texts are the same in 3.5, 3.6 and 3.7.
 */
export const REFUSAL_TEXTS = {
  /** No member has this ID: removed before, or never there. */
  MemberNotFound: "etcdserver: member not found",
  /** A member has this ID already: one with the same peer URL was added in the same second, which is part of the ID. */
  MemberExist: "etcdserver: member ID already exist",
  /** A member has this peer URL already. */
  PeerURLExist: "etcdserver: Peer URLs already exists",
  /** The change would leave too few started members for a quorum. */
  MemberNotEnoughStarted: "etcdserver: re-configuration failed due to not enough started members",
  /** It is a voter already. */
  MemberNotLearner: "etcdserver: can only promote a learner member",
  /** The learner has not caught up with the leader, or has not started. */
  LearnerNotReady: "etcdserver: can only promote a learner member which is in sync with leader",
  /** There is a learner already; etcd allows one by default (`--max-learners`). */
  TooManyLearners: "etcdserver: too many learner members in cluster",
  /** Not all members have been connected for long enough for the change to be safe (`--strict-reconfig-check`). */
  Unhealthy: "etcdserver: unhealthy cluster",
  /** The member knows no leader: no quorum, as far as it can see. */
  NoLeader: "etcdserver: no leader",
  /** Only the leader answers this call. */
  NotLeader: "etcdserver: not leader",
  /** Leadership cannot go to this member: a learner, or no member. */
  BadLeaderTransferee: "etcdserver: bad leader transferee",
  /** A learner answers few calls: status, and serializable reads. */
  NotSupportedForLearner: "etcdserver: rpc not supported for learner",
  /** Not one minor below what the cluster speaks; so also for the moments after an upgrade until it speaks the new minor. */
  InvalidDowngradeTargetVersion: "etcdserver: invalid downgrade target version",
  /** A downgrade is enabled already. */
  DowngradeInProcess: "etcdserver: cluster has a downgrade job in progress",
  /** There is no downgrade to cancel. */
  NoInflightDowngrade: "etcdserver: no inflight downgrade job",
  /** The history up to this revision is gone. */
  Compacted: "etcdserver: mvcc: required revision has been compacted",
  /** The alarm CORRUPT is raised. */
  Corrupt: "etcdserver: corrupt cluster",
  /** The alarm NOSPACE is raised. */
  NoSpace: "etcdserver: mvcc: database space exceeded",
  /** There is no user of this name; also said of who asks for what only an administrator may, and is no user. */
  UserNotFound: "etcdserver: user name not found",
  /** There is a user of this name already. */
  UserAlreadyExist: "etcdserver: user name already exists",
  /** Who asks is no user at all, while auth is enabled; or the name of a user that is to be made is empty. */
  UserEmpty: "etcdserver: user name is empty",
  /** There is no role of this name. */
  RoleNotFound: "etcdserver: role name not found",
  /** There is a role of this name already. */
  RoleAlreadyExist: "etcdserver: role name already exists",
  /** The user does not have the role that is to be revoked. */
  RoleNotGranted: "etcdserver: role is not granted to the user",
  /** The role does not have the permission that is to be revoked. */
  PermissionNotGranted: "etcdserver: permission is not granted to the role",
  /** Auth is enabled, and the user who asks may not do this. */
  PermissionDenied: "etcdserver: permission denied",
  /** Nobody can log in, since auth is not enabled. */
  AuthNotEnabled: "etcdserver: authentication is not enabled",
  /** No user of this name with this password. */
  AuthFailed: "etcdserver: authentication failed, invalid user ID or password",
  /** The user was made without a password, and is known by its certificate alone. */
  NoPasswordUser: "auth: authentication failed, password was given for no password user",
  /** The token has ended, or is from before auth was enabled. */
  InvalidAuthToken: "etcdserver: invalid auth token",
  /** Not while auth is enabled: without the user root and its role nobody could disable it. */
  InvalidAuthMgmt: "etcdserver: invalid auth management",
  /** Users or roles have changed while this was under way: nothing was done, and the next attempt may pass. */
  AuthOldRevision: "etcdserver: revision of auth store is old",
  /** Auth is enabled only with a user root. */
  RootUserNotExist: "etcdserver: root user does not exist",
  /** Auth is enabled only with a user root that has the role root. */
  RootRoleNotExist: "etcdserver: root user does not have root role",
} as const;

/** One of the refusals that change what we do next. */
export type EtcdRefusal = keyof typeof REFUSAL_TEXTS;

const REFUSALS: ReadonlyMap<string, EtcdRefusal> = new Map(
  Object.entries(REFUSAL_TEXTS).map(([refusal, text]) => [text, refusal as EtcdRefusal]),
);

/** Which of the known refusals an error of the client tells of; undefined for every other one. */
export function refusalOf(thrown: unknown): EtcdRefusal | undefined {
  if (!(thrown instanceof OperatorError) || !(thrown.cause instanceof ConnectError)) return undefined;
  return REFUSALS.get(thrown.cause.rawMessage);
}

/** A call that failed. */
interface FailedCall {
  /** etcd's name of it. Example: `MemberList` */
  readonly method: string;
  readonly address: string;
  /** The caller's own signal, without the deadline. */
  readonly signal: AbortSignal;
  /** The Secret with the certificate that was shown, if it is from one. */
  readonly secretName?: string | undefined;
}

/**
 * Whatever the transport threw, as our error:
 * what we threw ourselves before anything was sent → the same; our own signal → `Cancelled`; a refusal by the member → `EtcdRejected`; everything else means that there was no answer, or
 * only one that says "later" → `EtcdUnavailable`. Then a change may have happened or not.
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
 * How etcd begins to say that it has waited in vain, and does not know what came of it. Of a lead that is given away it does so with a code
 * that refuses (`Unknown`).
 */
const TIMED_OUT = "etcdserver: request timed out";

function isRefusal(failure: ConnectError): boolean {
  if (!isAnswer(failure)) return false;
  // etcd sends some refusals as Unavailable, and not the same ones in all versions; the text says that nothing was done.
  if (REFUSALS.has(failure.rawMessage)) return true;
  if (failure.rawMessage.startsWith(TIMED_OUT)) return false;
  // A member that is stopping answers Canceled; it refuses nothing.
  return ![Code.Unavailable, Code.DeadlineExceeded, Code.Canceled].includes(failure.code);
}

/** Whether the member itself sent the error; a connection or TLS handshake that failed has no gRPC status. */
function isAnswer(failure: ConnectError): boolean {
  return failure.metadata.has("grpc-status");
}
