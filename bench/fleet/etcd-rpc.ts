import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import {
  AlarmRequest_AlarmAction as AlarmAction,
  AlarmRequestSchema,
  AlarmResponseSchema,
  MemberAddRequestSchema,
  MemberAddResponseSchema,
  MemberListRequestSchema,
  MemberListResponseSchema,
  MemberPromoteRequestSchema,
  MemberPromoteResponseSchema,
  MemberRemoveRequestSchema,
  MemberRemoveResponseSchema,
  MemberSchema,
  MoveLeaderRequestSchema,
  MoveLeaderResponseSchema,
  ResponseHeaderSchema,
  StatusRequestSchema,
  StatusResponseSchema,
} from "#etcd/proto/etcdserverpb/rpc_pb.js";
import { type EndpointStatus, type Member as ListedMember, type MemberList, memberId } from "#etcd/types.ts";
import type { Member } from "./members.ts";

// etcd's gRPC methods, from the bytes of a request to those of the answer.

/** Time after which etcd fails a call that needs a leader while there is none (`ReqTimeout`), in milliseconds. */
const WITHOUT_LEADER_MS = 7_000;

const CALL = { signal: new AbortController().signal };

/** One gRPC method: takes the bytes of a request and returns those of the response. */
type Method = (member: Member, address: string, request: Uint8Array) => Promise<Uint8Array>;

function method<I extends DescMessage, O extends DescMessage>(
  input: I,
  output: O,
  run: (member: Member, endpoint: { address: string }, request: MessageShape<I>) => Promise<MessageShape<O>>,
): Method {
  return async (member, address, request) =>
    toBinary(output, await run(member, { address }, fromBinary(input, request)));
}

/** Methods by path. Those that the operator does not call are missing, and answered with Unimplemented. */
export const METHODS: ReadonlyMap<string, Method> = new Map([
  [
    "/etcdserverpb.Maintenance/Status",
    method(StatusRequestSchema, StatusResponseSchema, async ({ client }, at) =>
      statusOf(await client.status(at, CALL)),
    ),
  ],
  [
    "/etcdserverpb.Maintenance/MoveLeader",
    method(MoveLeaderRequestSchema, MoveLeaderResponseSchema, async ({ client }, at, { targetID }) => {
      await client.moveLeader(at, memberId(targetID), CALL);
      return create(MoveLeaderResponseSchema);
    }),
  ],
  [
    "/etcdserverpb.Maintenance/Alarm",
    method(AlarmRequestSchema, AlarmResponseSchema, async (member, at, { action }) => {
      if (action !== AlarmAction.GET) throw new ConnectError("the bench serves only GET of alarms", Code.Unimplemented);
      return create(AlarmResponseSchema, { header: headerOf(await member.client.status(at, CALL)) });
    }),
  ],
  [
    "/etcdserverpb.Cluster/MemberList",
    method(MemberListRequestSchema, MemberListResponseSchema, async ({ client }, at, { linearizable }) =>
      create(MemberListResponseSchema, listOf(await client.memberList(at, { ...CALL, linearizable }))),
    ),
  ],
  [
    "/etcdserverpb.Cluster/MemberAdd",
    method(MemberAddRequestSchema, MemberAddResponseSchema, async ({ client }, at, { peerURLs, isLearner }) => {
      if (!isLearner) throw new ConnectError("the bench adds only learners", Code.Unimplemented);
      const { member, memberList } = await client.addLearner(at, peerURLs, CALL);
      return create(MemberAddResponseSchema, { ...listOf(memberList), member: messageOf(member) });
    }),
  ],
  [
    "/etcdserverpb.Cluster/MemberPromote",
    method(MemberPromoteRequestSchema, MemberPromoteResponseSchema, async ({ client }, at, { ID }) =>
      create(MemberPromoteResponseSchema, listOf(await client.promote(at, memberId(ID), CALL))),
    ),
  ],
  [
    "/etcdserverpb.Cluster/MemberRemove",
    method(MemberRemoveRequestSchema, MemberRemoveResponseSchema, async ({ client }, at, { ID }) =>
      create(MemberRemoveResponseSchema, listOf(await client.removeMember(at, memberId(ID), CALL))),
    ),
  ],
]);

/** Whether the method changes the membership or the leader. */
export function changesMembership(path: string): boolean {
  return /\/Member(Add|Promote|Remove)$|\/MoveLeader$/.test(path);
}

/** gRPC status with which a failed call is answered, and the delay before the answer. */
export function failureOf(thrown: unknown): { code: Code; text: string; afterMs: number } {
  const cause = thrown instanceof OperatorError ? thrown.cause : thrown;
  if (cause instanceof ConnectError) return { code: cause.code, text: cause.rawMessage, afterMs: 0 };
  const isWaiting = thrown instanceof OperatorError && thrown.code === "EtcdUnavailable";
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: isWaiting ? Code.Unavailable : Code.Internal, text, afterMs: isWaiting ? WITHOUT_LEADER_MS : 0 };
}

function headerOf({ clusterId, memberId: by, raftTerm }: Pick<EndpointStatus, "clusterId" | "memberId" | "raftTerm">) {
  return create(ResponseHeaderSchema, { clusterId, memberId: by, raftTerm: BigInt(raftTerm) });
}

function statusOf(status: EndpointStatus) {
  return create(StatusResponseSchema, {
    header: headerOf(status),
    version: status.version,
    dbSize: BigInt(status.dbSizeBytes),
    dbSizeInUse: BigInt(status.dbSizeInUseBytes),
    leader: status.leaderId ?? 0n,
    raftIndex: BigInt(status.raftIndex),
    raftAppliedIndex: BigInt(status.raftAppliedIndex),
    raftTerm: BigInt(status.raftTerm),
    isLearner: status.isLearner,
    storageVersion: status.storageVersion ?? "",
    errors: status.leaderId === undefined ? ["etcdserver: no leader"] : [],
  });
}

function listOf({ clusterId, answeredBy, raftTerm, members }: MemberList) {
  return { header: headerOf({ clusterId, memberId: answeredBy, raftTerm }), members: members.map(messageOf) };
}

function messageOf({ id, name, peerUrls, clientUrls, isLearner }: ListedMember) {
  return create(MemberSchema, { ID: id, name, peerURLs: [...peerUrls], clientURLs: [...clientUrls], isLearner });
}
