import type { ErrorCode } from "#base/error.ts";
import type { Observed } from "#base/observed.ts";
import type { EtcdAuth } from "./auth.ts";
import type { Bytes, CallOptions } from "./call-options.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HeardPeers } from "./heard-peers.ts";
import type { Alarm, EndpointStatus, KeyValue, KvHash, Member, MemberId, MemberList } from "./types.ts";

export type { Bytes, CallOptions } from "./call-options.ts";

/** One call that ended, for metrics. */
export interface CallReport {
  /** etcd's name of it. Example: `MemberList` */
  readonly method: string;
  readonly code: "OK" | ErrorCode;
  readonly durationMs: number;
  readonly address: string;
}

/** A new member, and the list with it. */
export interface AddedMember {
  readonly member: Member;
  readonly memberList: MemberList;
}

/**
 * Talks to single members. Every method fails with an OperatorError: `EtcdUnavailable` (no answer in time; a change may have
 * happened), `EtcdRejected` (see `refusalOf` in error.ts), `EtcdWrongCluster` (nothing was changed), `LeaseLost` (nothing was sent) or
 * `Cancelled`.
 */
export interface EtcdClient extends EtcdAuth {
  /** What the member says of itself; learners answer too. No answer from a member that has started without a quorum. */
  status(endpoint: Endpoint, options: CallOptions): Promise<EndpointStatus>;
  /** Like `status`, for looking around: whatever went wrong is `unknown`. Fails with `Cancelled` only. Never `absent`. */
  probe(endpoint: Endpoint, options: CallOptions): Promise<Observed<EndpointStatus>>;
  /**
   * Who the member is that passes etcd's own health check, asked at its metrics port, which opens before its client port does:
   * see health-check.ts. `unknown` when it does not pass; fails with `Cancelled` only. Never `absent`.
   * @param address host and port of the metrics URL, plain HTTP
   */
  health(address: string, options: Pick<CallOptions, "signal" | "deadlineMs">): Promise<Observed<MemberId>>;
  /**
   * Whether a new connection to this client port, or to a Service that leads to several, finds somebody who serves linearizable reads
   * by etcd's own word, `/readyz`. `unknown` when not; fails with `Cancelled` only. Never `absent`.
   */
  serves(endpoint: Endpoint, options: Pick<CallOptions, "signal" | "deadlineMs">): Promise<Observed<true>>;
  /**
   * From whom the member at this metrics port receives raft traffic, as a witness for those whom we cannot reach: see heard-peers.ts.
   * Takes a second (LISTEN_MS), which the deadline must leave. `unknown` when it does not tell; fails with `Cancelled` only. Never
   * `absent`.
   * @param address host and port of the metrics URL, plain HTTP
   * @param options.expectedMemberId who must tell: an address may have passed to another member's pod. Undefined: whoever it is
   */
  heardPeers(
    address: string,
    options: Pick<CallOptions, "signal" | "deadlineMs"> & { readonly expectedMemberId?: MemberId | undefined },
  ): Promise<Observed<HeardPeers>>;
  /**
   * The members of the cluster.
   * @param options.linearizable true: confirmed by a quorum, as every decision about membership needs it. false: what this
   *   member happens to know, possibly old, without a quorum.
   */
  memberList(endpoint: Endpoint, options: CallOptions & { readonly linearizable: boolean }): Promise<MemberList>;
  /** Adds a member without a vote. @param peerUrls where the others will reach it: scheme, host and port */
  addLearner(endpoint: Endpoint, peerUrls: readonly string[], options: CallOptions): Promise<AddedMember>;
  /** Gives a learner its vote. Refused with `LearnerNotReady` until it has caught up. */
  promote(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList>;
  /**
   * Says where the others reach a member from now on. Never ask it about a learner: older releases would list it as a voter from then on,
   * and refuse to promote it. https://github.com/etcd-io/etcd/issues/21694
   */
  updateMember(
    endpoint: Endpoint,
    id: MemberId,
    peerUrls: readonly string[],
    options: CallOptions,
  ): Promise<MemberList>;
  /** Takes a member out of the cluster for good; its process ends by itself. */
  removeMember(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList>;
  /** Hands leadership to another voter. @param endpoint the present leader; others refuse with `NotLeader` */
  moveLeader(endpoint: Endpoint, target: MemberId, options: CallOptions): Promise<void>;
  /** All alarms that are raised in the cluster. */
  alarms(endpoint: Endpoint, options: CallOptions): Promise<readonly Alarm[]>;
  /** Lowers one alarm; etcd raises it again when its cause is still there. */
  disarmAlarm(endpoint: Endpoint, alarm: Alarm, options: CallOptions): Promise<void>;
  /**
   * Asks for a downgrade of the whole cluster, or for the end of one; see downgrade.ts. `VALIDATE` changes nothing. Refused in etcd's words.
   * @param to the minor version to go to, such as "3.5"; nothing is read of it for `CANCEL`
   */
  downgrade(endpoint: Endpoint, action: DowngradeAction, to: string, options: CallOptions): Promise<void>;
  /** Writes a key. @returns the revision that the write made */
  put(endpoint: Endpoint, key: Bytes, value: Bytes, options: CallOptions): Promise<number>;
  /** Reads one key; undefined when it is not there. @param options.serializable true: what this member has, without a quorum */
  get(
    endpoint: Endpoint,
    key: Bytes,
    options: CallOptions & { readonly serializable?: boolean | undefined },
  ): Promise<KeyValue | undefined>;
  /** The revision of the cluster, by a linearizable read: a quorum has confirmed it. */
  revision(endpoint: Endpoint, options: CallOptions): Promise<bigint>;
  /** Deletes one key, or all from `key` up to `rangeEnd` (excluded). @returns how many keys it deleted */
  deleteRange(
    endpoint: Endpoint,
    key: Bytes,
    options: CallOptions & { readonly rangeEnd?: Bytes | undefined },
  ): Promise<number>;
  /** The hash of the member's keys. @param options.revision up to which; undefined: all */
  hashKv(endpoint: Endpoint, options: CallOptions & { readonly revision?: number | undefined }): Promise<KvHash>;
}

/** What may be asked of etcd about a downgrade, in its own words. */
export type DowngradeAction = "VALIDATE" | "ENABLE" | "CANCEL";
