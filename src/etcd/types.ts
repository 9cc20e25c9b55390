import { OperatorError } from "#base/error.ts";

/** Identifies a member for its whole life: uint64, never 0. Also called node ID in etcd's logs. */
export type MemberId = bigint & { readonly brand: "MemberId" };

/** Identifies a cluster for its whole life: uint64, never 0. etcd's answers contain it. */
export type ClusterId = bigint & { readonly brand: "ClusterId" };

const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Checks a member ID.
 * @param value 1 to 2^64 - 1; etcd uses 0 for "no member"
 * @throws OperatorError Bug when out of range
 */
export function memberId(value: bigint): MemberId {
  return uint64(value, "member ID") as MemberId;
}

/**
 * Checks a cluster ID.
 * @param value 1 to 2^64 - 1; etcd uses 0 for "none"
 * @throws OperatorError Bug when out of range
 */
export function clusterId(value: bigint): ClusterId {
  return uint64(value, "cluster ID") as ClusterId;
}

function uint64(value: bigint, what: string): bigint {
  if (value < 1n || value > UINT64_MAX) {
    throw new OperatorError("Bug", `${what} is ${value}; it must be from 1 to ${UINT64_MAX}`);
  }
  return value;
}

/** The ID as etcdctl and etcd's logs print it: lower-case hexadecimal without padding. Example: `8e9e05c52164694d`. */
export function hexOf(id: MemberId | ClusterId): string {
  return id.toString(16);
}

/**
 * Parses the output of `hexOf`, and no other format: each ID has exactly one text, so that texts can be compared.
 * @throws OperatorError InvalidSpec when the text is not 1 to 16 lower-case hexadecimal digits without a leading zero
 */
export function memberIdFromHex(text: string): MemberId {
  return fromHex(text, "member ID") as MemberId;
}

/**
 * Parses the output of `hexOf`, and no other format.
 * @throws OperatorError InvalidSpec when the text is not 1 to 16 lower-case hexadecimal digits without a leading zero
 */
export function clusterIdFromHex(text: string): ClusterId {
  return fromHex(text, "cluster ID") as ClusterId;
}

function fromHex(text: string, what: string): bigint {
  if (!/^[1-9a-f][0-9a-f]{0,15}$/.test(text)) {
    throw new OperatorError(
      "InvalidSpec",
      `${what} is ${JSON.stringify(text)}; it must be 1 to 16 lower-case hexadecimal digits without a leading zero`,
    );
  }
  return BigInt(`0x${text}`);
}

/** A member in etcd's member list. */
export interface Member {
  readonly id: MemberId;
  /** Empty until the first start: the member itself publishes its name. */
  readonly name: string;
  /** Peer URLs, sorted. */
  readonly peerUrls: readonly string[];
  /** Client URLs, sorted; empty until the first start. */
  readonly clientUrls: readonly string[];
  /** A learner receives the data and has no vote. */
  readonly isLearner: boolean;
}

/** The member list, as answered by one member. */
export interface MemberList {
  readonly clusterId: ClusterId;
  /** Members in the order of etcd's answer. */
  readonly members: readonly Member[];
  readonly answeredBy: MemberId;
  /** The raft term of the answer; increases with every election. */
  readonly raftTerm: number;
}

/**
 * A member's own status, answered locally, even after the loss of the quorum. A member that starts without a quorum
 * does not serve its client port until there is one (test/etcd/probes.test.ts). Numbers are exact below 2^53
 * (`StatusResponse` in etcd's api/etcdserverpb/rpc.proto).
 */
export interface EndpointStatus {
  readonly clusterId: ClusterId;
  readonly memberId: MemberId;
  /** The version of the binary. Example: "3.6.16" */
  readonly version: string;
  /** Size of the database file, free pages included. */
  readonly dbSizeBytes: number;
  /** Bytes of `dbSizeBytes` that are in use. Defragmentation frees the rest. */
  readonly dbSizeInUseBytes: number;
  /** `--quota-backend-bytes`; undefined before etcd 3.6. */
  readonly dbSizeQuotaBytes: number | undefined;
  /** The version of the storage schema ("3.6.0"); undefined before etcd 3.6 and until it is first written. */
  readonly storageVersion: string | undefined;
  /** The leader that this member follows. Undefined when it has none, and so no quorum. */
  readonly leaderId: MemberId | undefined;
  /** The last committed entry that this member knows of. */
  readonly raftIndex: number;
  /** The last entry that this member has applied to its database. */
  readonly raftAppliedIndex: number;
  readonly raftTerm: number;
  readonly isLearner: boolean;
  /** Target version of the downgrade in progress ("3.5.0"). Undefined without one, and before etcd 3.6. */
  readonly downgradeTo: string | undefined;
  /** The alarms of the whole cluster that this member has applied. */
  readonly alarms: readonly Alarm[];
}

/**
 * `NOSPACE`: the quota is used up, writes are refused. `CORRUPT`: a member's data differs from the others'.
 * `UNKNOWN`: a type that this client does not know, from a newer etcd.
 */
export type AlarmType = "NOSPACE" | "CORRUPT" | "UNKNOWN";

/** An alarm stays raised until it is disarmed, even when its cause is gone. */
export interface Alarm {
  /**
   * The affected member. Undefined when members' data differs without a majority, so that etcd cannot determine which
   * is corrupt (server/etcdserver/corrupt.go, checkPeerHashes).
   */
  readonly memberId: MemberId | undefined;
  readonly type: AlarmType;
}

/** A key with its value. */
export interface KeyValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  /** The revision of the last change of this key. */
  readonly modRevision: number;
  /** 1 when the key was created; incremented by each change. */
  readonly version: number;
}

/** A hash over all keys up to a revision. Members with the same data have the same hash. */
export interface KvHash {
  readonly memberId: MemberId;
  readonly hash: number;
  /** The last revision in the hash. Undefined before etcd 3.6. */
  readonly hashRevision: number | undefined;
  /** The compacted revision, where the hash begins. Hashes are comparable only when both revisions are equal. */
  readonly compactRevision: number;
}
