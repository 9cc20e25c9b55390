import { OperatorError } from "#base/error.ts";
import type {
  AlarmMember,
  HashKVResponse,
  Member as MemberMessage,
  ResponseHeader,
  StatusResponse,
} from "./proto/etcdserverpb/rpc_pb.js";
import { AlarmType as AlarmNumber } from "./proto/etcdserverpb/rpc_pb.js";
import type { KeyValue as KeyValueMessage } from "./proto/mvccpb/kv_pb.js";
import {
  type Alarm,
  type AlarmType,
  clusterId,
  type EndpointStatus,
  type KeyValue,
  type KvHash,
  type Member,
  type MemberId,
  type MemberList,
  memberId,
} from "./types.ts";

// Converts etcd's messages to our types.
// An ID of 0 is invalid in etcd, so an answer with one does not come from an etcd and is rejected.
// Numbers arrive as bigint. All but IDs are far below 2^53 in practice and are converted to `number`.

export function memberListOf(header: ResponseHeader, members: readonly MemberMessage[]): MemberList {
  return {
    clusterId: clusterId(named(header.clusterId, "cluster")),
    members: members.map(memberOf),
    answeredBy: memberId(named(header.memberId, "member")),
    raftTerm: Number(header.raftTerm),
  };
}

export function memberOf(message: MemberMessage): Member {
  return {
    id: memberId(named(message.ID, "member")),
    name: message.name,
    peerUrls: [...message.peerURLs].sort(),
    clientUrls: [...message.clientURLs].sort(),
    isLearner: message.isLearner,
  };
}

export function statusOf(header: ResponseHeader, message: StatusResponse): EndpointStatus {
  return {
    clusterId: clusterId(named(header.clusterId, "cluster")),
    memberId: memberId(named(header.memberId, "member")),
    version: message.version,
    dbSizeBytes: Number(message.dbSize),
    dbSizeInUseBytes: Number(message.dbSizeInUse),
    dbSizeQuotaBytes: message.dbSizeQuota > 0n ? Number(message.dbSizeQuota) : undefined,
    storageVersion: message.storageVersion === "" ? undefined : message.storageVersion,
    leaderId: message.leader === 0n ? undefined : memberId(message.leader),
    raftIndex: Number(message.raftIndex),
    raftAppliedIndex: Number(message.raftAppliedIndex),
    raftTerm: Number(message.raftTerm),
    isLearner: message.isLearner,
    downgradeTo: message.downgradeInfo?.enabled === true ? message.downgradeInfo.targetVersion : undefined,
    alarms: message.errors.flatMap((error) => alarmIn(error) ?? []),
  };
}

export function alarmOf(message: AlarmMember): Alarm {
  return { memberId: mentioned(message.memberID), type: alarmTypeOf(message.alarm) };
}

/** Text format of an AlarmMember message: the ID is decimal and omitted when 0; the number of spaces varies. */
const ALARM_TEXT = /^(?:memberID:(\d{1,20})\s+)?alarm:(\w+)/;

const MAX_ID = 2n ** 64n - 1n;

/** Parses one of the errors in a `Status` answer. Undefined when it is no alarm, such as "etcdserver: no leader". */
function alarmIn(error: string): Alarm | undefined {
  const [found, id = "0", type] = ALARM_TEXT.exec(error) ?? [];
  if (found === undefined || BigInt(id) > MAX_ID) return undefined;
  return { memberId: mentioned(BigInt(id)), type: type === "NOSPACE" || type === "CORRUPT" ? type : "UNKNOWN" };
}

/** @throws OperatorError EtcdRejected when the ID is 0 */
function named(id: bigint, what: string): bigint {
  if (id === 0n) throw new OperatorError("EtcdRejected", `the answer has ${what} ID 0, which no ${what} of etcd has`);
  return id;
}

function mentioned(id: bigint): MemberId | undefined {
  return id === 0n ? undefined : memberId(id);
}

function alarmTypeOf(alarm: AlarmNumber): AlarmType {
  if (alarm === AlarmNumber.NOSPACE) return "NOSPACE";
  if (alarm === AlarmNumber.CORRUPT) return "CORRUPT";
  return "UNKNOWN";
}

export function keyValueOf(message: KeyValueMessage): KeyValue {
  return {
    key: message.key,
    value: message.value,
    modRevision: Number(message.modRevision),
    version: Number(message.version),
  };
}

export function kvHashOf(header: ResponseHeader, message: HashKVResponse): KvHash {
  return {
    memberId: memberId(named(header.memberId, "member")),
    hash: message.hash,
    hashRevision: message.hashRevision > 0n ? Number(message.hashRevision) : undefined,
    compactRevision: Number(message.compactRevision),
  };
}
