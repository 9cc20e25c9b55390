import type { ErrorCode } from "#base/error.ts";
import type { Observed } from "#base/observed.ts";
import type { EtcdAuth } from "./auth.ts";
import type { Bytes, CallOptions } from "./call-options.ts";
import type { Endpoint } from "./endpoint.ts";
import type { HeardPeers } from "./heard-peers.ts";
import type { Alarm, EndpointStatus, KeyValue, KvHash, Member, MemberId, MemberList } from "./types.ts";

export type { Bytes, CallOptions } from "./call-options.ts";

/** A finished call, for metrics. */
export interface CallReport {
  /** Name of the gRPC method. Example: `MemberList` */
  readonly method: string;
  readonly code: "OK" | ErrorCode;
  readonly durationMs: number;
  readonly address: string;
}

/** A new member, and the member list that includes it. */
export interface AddedMember {
  readonly member: Member;
  readonly memberList: MemberList;
}

/**
 * Client for single members. Every method fails with an OperatorError:
 * - `EtcdUnavailable`: no answer in time; a change may have happened
 * - `EtcdRejected`: etcd returned an error, see `refusalOf` in error.ts
 * - `EtcdWrongCluster`: nothing was changed
 * - `LeaseLost`: nothing was sent
 * - `Cancelled`: the caller's signal aborted
 */
export interface EtcdClient extends EtcdAuth {
  /** The member's own status. Learners answer too. A member that was started without a quorum does not answer. */
  status(endpoint: Endpoint, options: CallOptions): Promise<EndpointStatus>;
  /** Like `status`, but failures are `unknown` instead of errors. Throws only `Cancelled`. Never `absent`. */
  probe(endpoint: Endpoint, options: CallOptions): Promise<Observed<EndpointStatus>>;
  /**
   * ID of the member at this metrics port, if it passes etcd's own health check. The metrics port opens before the
   * client port: see health-check.ts. `unknown` when the check fails, never `absent`; throws only `Cancelled`.
   * @param address host and port of the metrics URL, plain HTTP
   */
  health(address: string, options: Pick<CallOptions, "signal" | "deadlineMs">): Promise<Observed<MemberId>>;
  /**
   * Whether a new connection to this client port, or to a Service, reaches a member that serves linearizable reads
   * according to its `/readyz`. `unknown` when not, never `absent`; throws only `Cancelled`.
   */
  serves(endpoint: Endpoint, options: Pick<CallOptions, "signal" | "deadlineMs">): Promise<Observed<true>>;
  /**
   * Peers from which the member at this metrics port receives raft traffic: evidence that a peer runs although the
   * operator cannot reach it (heard-peers.ts). Takes one second (LISTEN_MS), so the deadline must be longer.
   * `unknown` when the member does not answer, never `absent`; throws only `Cancelled`.
   * @param address host and port of the metrics URL, plain HTTP
   * @param options.expectedMemberId the member that must answer: its address may now belong to another member's pod.
   *   Undefined: any member
   */
  heardPeers(
    address: string,
    options: Pick<CallOptions, "signal" | "deadlineMs"> & { readonly expectedMemberId?: MemberId | undefined },
  ): Promise<Observed<HeardPeers>>;
  /**
   * The members of the cluster.
   * @param options.linearizable true: confirmed by a quorum, required for every decision about membership. false: this
   *   member's local and possibly stale list, available without a quorum
   */
  memberList(endpoint: Endpoint, options: CallOptions & { readonly linearizable: boolean }): Promise<MemberList>;
  /** Adds a learner. @param peerUrls its peer URLs: scheme, host and port */
  addLearner(endpoint: Endpoint, peerUrls: readonly string[], options: CallOptions): Promise<AddedMember>;
  /** Promotes a learner to voter. Rejected with `LearnerNotReady` until it has caught up with the leader. */
  promote(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList>;
  /**
   * Changes the peer URLs of a member. Never call it for a learner: older releases would then list the learner as a
   * voter, and reject its promotion. https://github.com/etcd-io/etcd/issues/21694
   */
  updateMember(
    endpoint: Endpoint,
    id: MemberId,
    peerUrls: readonly string[],
    options: CallOptions,
  ): Promise<MemberList>;
  /** Removes a member permanently. Its process exits by itself. */
  removeMember(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList>;
  /**
   * Transfers leadership to another voter.
   * @param endpoint the current leader; other members reject with `NotLeader`
   */
  moveLeader(endpoint: Endpoint, target: MemberId, options: CallOptions): Promise<void>;
  /** All alarms that are raised in the cluster. */
  alarms(endpoint: Endpoint, options: CallOptions): Promise<readonly Alarm[]>;
  /** Disarms one alarm. etcd raises it again while its cause persists. */
  disarmAlarm(endpoint: Endpoint, alarm: Alarm, options: CallOptions): Promise<void>;
  /**
   * Validates, enables or cancels a downgrade of the whole cluster; see downgrade.ts. `VALIDATE` changes nothing.
   * @param to the target minor version, such as "3.5"; ignored for `CANCEL`
   */
  downgrade(endpoint: Endpoint, action: DowngradeAction, to: string, options: CallOptions): Promise<void>;
  /** Writes a key. @returns the revision that the write made */
  put(endpoint: Endpoint, key: Bytes, value: Bytes, options: CallOptions): Promise<number>;
  /**
   * Reads one key. Undefined when it does not exist.
   * @param options.serializable true: a local read, without a quorum
   */
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

/** Action of a downgrade call, in etcd's terms. */
export type DowngradeAction = "VALIDATE" | "ENABLE" | "CANCEL";
