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

// etcd's messages as our types. Numbers come as bigint; what is not an ID is far below 2^53 in practice and becomes a number.

export function memberListOf(header: ResponseHeader, members: readonly MemberMessage[]): MemberList {
  return {
    clusterId: clusterId(header.clusterId),
    members: members.map(memberOf),
    answeredBy: memberId(header.memberId),
    raftTerm: Number(header.raftTerm),
  };
}

export function memberOf(message: MemberMessage): Member {
  return {
    id: memberId(message.ID),
    name: message.name,
    peerUrls: [...message.peerURLs].sort(),
    clientUrls: [...message.clientURLs].sort(),
    isLearner: message.isLearner,
  };
}

export function statusOf(header: ResponseHeader, message: StatusResponse): EndpointStatus {
  return {
    clusterId: clusterId(header.clusterId),
    memberId: memberId(header.memberId),
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

/** A proto message's text form: the ID in decimal, left out when it is 0; how many spaces follow it is not said. */
const ALARM_TEXT = /^(?:memberID:(\d+)\s+)?alarm:(\w+)/;

/** `Status` tells of alarms in a text each, among other complaints ("etcdserver: no leader"). */
function alarmIn(error: string): Alarm | undefined {
  const [found, id = "0", type] = ALARM_TEXT.exec(error) ?? [];
  if (found === undefined) return undefined;
  return { memberId: mentioned(BigInt(id)), type: type === "NOSPACE" || type === "CORRUPT" ? type : "UNKNOWN" };
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
    memberId: memberId(header.memberId),
    hash: message.hash,
    hashRevision: message.hashRevision > 0n ? Number(message.hashRevision) : undefined,
    compactRevision: Number(message.compactRevision),
  };
}
