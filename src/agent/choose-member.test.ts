import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { clusterId, type EndpointStatus, memberId } from "#etcd/types.ts";
import { type Answer, chooseMember } from "./choose-member.ts";
import { AgentError } from "./error.ts";
import type { FailureReason } from "./report.ts";

const LEADER = memberId(1n);

/** A healthy member of a cluster led by the first one. */
function member(id: number, change: Partial<EndpointStatus> = {}): Answer {
  const status: EndpointStatus = {
    clusterId: clusterId(0xcdfn),
    memberId: memberId(BigInt(id)),
    version: "3.6.16",
    dbSizeBytes: 20_480,
    dbSizeInUseBytes: 20_480,
    dbSizeQuotaBytes: undefined,
    storageVersion: undefined,
    leaderId: LEADER,
    raftIndex: 100,
    raftAppliedIndex: 100,
    raftTerm: 2,
    isLearner: false,
    downgradeTo: undefined,
    alarms: [],
    ...change,
  };
  return { source: sourceAt(`m${id}:2379`), status };
}

function silent(id: number, message = "down"): Answer {
  return {
    source: sourceAt(`m${id}:2379`),
    failed: new OperatorError("EtcdUnavailable", `Status at m${id}:2379: ${message}`),
  };
}

/** A member that answers with an error of etcd or TLS. */
function refusing(id: number, cause: Error): Answer {
  const failed = new OperatorError("EtcdUnavailable", `Status at m${id}:2379: ${cause.message}`, { cause });
  return { source: sourceAt(`m${id}:2379`), failed };
}

const untrusted = Object.assign(new Error("untrusted"), { code: "SELF_SIGNED_CERT_IN_CHAIN" });
const unknownUser = new ConnectError("authentication failed", Code.InvalidArgument);
const noLeader = new ConnectError("etcdserver: no leader", Code.Unavailable);

function sourceAt(address: string): Answer["source"] {
  const unasked = () => Promise.reject(new Error("nothing is asked here"));
  return {
    address,
    status: unasked,
    revision: unasked,
    keys: unasked,
    hashKV: unasked,
    authEnabled: unasked,
    snapshot() {
      throw new Error("nothing is read here");
    },
    get changes(): never {
      throw new Error("no member is followed here");
    },
  };
}

const corrupt = (id: number | undefined) =>
  ({ type: "CORRUPT", memberId: id === undefined ? undefined : memberId(BigInt(id)) }) as const;
const noSpace = { type: "NOSPACE", memberId: memberId(2n) } as const;

describe("the agent reads", () => {
  test.each<[string, readonly Answer[], number]>([
    [
      "the follower with the highest applied index",
      [member(1, { raftAppliedIndex: 100 }), member(2, { raftAppliedIndex: 98 }), member(3, { raftAppliedIndex: 99 })],
      3,
    ],
    ["the leader when it is alone", [member(1)], 1],
    ["the leader when no follower answers", [silent(2), member(1), silent(3)], 1],
    ["the leader when all others are learners", [member(1), member(2, { isLearner: true })], 1],
    [
      "no member that has no leader",
      [member(1), member(2, { leaderId: undefined, raftAppliedIndex: 200 }), member(3)],
      3,
    ],
    [
      "no member with the alarm CORRUPT",
      [member(1), member(2, { raftAppliedIndex: 200, alarms: [corrupt(2)] }), member(3, { alarms: [corrupt(2)] })],
      3,
    ],
    ["a member with NOSPACE when all have it", [member(1, { alarms: [noSpace] }), member(2, { alarms: [noSpace] })], 2],
  ])("%s", (_which, answers, expected) => {
    assert.equal(chooseMember(answers, "cdf").source.address, `m${expected}:2379`);
    assert.equal(chooseMember(answers, undefined).source.address, `m${expected}:2379`);
  });

  test.each<[string, readonly Answer[], FailureReason, RegExp]>([
    ["no member answers", [silent(1), silent(2)], "SourceUnreachable", /m1:2379: down; .*m2:2379: down/],
    [
      "one member's certificate is not trusted, and the others are down",
      [silent(1), refusing(2, untrusted)],
      "SourceTLS",
      /m1.*m2.*untrusted/,
    ],
    [
      "one member refuses the user",
      [silent(1), refusing(2, unknownUser)],
      "SourceAuth",
      /m2:2379: .*authentication failed/,
    ],
    ["the answering member has no leader", [silent(1), refusing(2, noLeader)], "NoQuorum", /m2:2379: .*no leader/],
    [
      "one member refuses the user, and another is of another cluster",
      [member(1, { clusterId: clusterId(0xabcn) }), refusing(2, unknownUser)],
      "SourceAuth",
      /expected was cdf; .*authentication failed/,
    ],
    ["only learners answer", [member(2, { isLearner: true })], "SourceUnreachable", /only learners answer.*m2/],
    [
      "no member has a leader",
      [member(1, { leaderId: undefined }), silent(2)],
      "NoQuorum",
      /no member knows a leader.*m1/,
    ],
    [
      "all members have the alarm CORRUPT",
      [member(1, { alarms: [corrupt(1)] }), silent(2)],
      "SnapshotCorrupt",
      /CORRUPT.*m1/,
    ],
    [
      "the alarm CORRUPT names no member",
      [member(1, { alarms: [corrupt(undefined)] }), member(2, { alarms: [corrupt(undefined)] })],
      "SnapshotCorrupt",
      /CORRUPT/,
    ],
    [
      "all members are of another cluster",
      [member(1, { clusterId: clusterId(0xabcn) }), member(2, { clusterId: clusterId(0xabcn) })],
      "WrongCluster",
      /m1:2379 belongs to the cluster abc, expected was cdf; m2:2379 belongs to the cluster abc/,
    ],
    [
      "one member is of another cluster, and the others do not answer",
      [member(1, { clusterId: clusterId(0xabcn) }), silent(2)],
      "SourceUnreachable",
      /m1:2379 belongs to the cluster abc, expected was cdf; .*m2:2379: down/,
    ],
    [
      "one member is of another cluster, and the others have no leader",
      [member(1, { leaderId: undefined }), member(2, { clusterId: clusterId(0xabcn) })],
      "NoQuorum",
      /no member knows a leader; asked were m1:2379$/,
    ],
  ])("no member, and reports why, when %s", (_what, answers, reason, message) => {
    assert.throws(
      () => chooseMember(answers, "cdf"),
      (thrown) => thrown instanceof AgentError && thrown.reason === reason && message.test(thrown.message),
    );
  });

  test("no member of another cluster, whatever its applied index, when the cluster ID is known", () => {
    const stranger = member(2, { clusterId: clusterId(0xabcn), raftAppliedIndex: 200 });
    assert.equal(chooseMember([stranger, member(1)], "cdf").source.address, "m1:2379");
    assert.equal(chooseMember([member(1), stranger, member(3)], "cdf").source.address, "m3:2379");
  });

  test("no member when the members are of two clusters and the cluster ID is unknown", () => {
    const two = [member(1), member(2, { clusterId: clusterId(0xabcn) })];
    assert.throws(() => chooseMember(two, undefined), /m2:2379 belongs to the cluster abc, expected was cdf/);
    assert.throws(() => chooseMember([member(1)], "abc"), /m1:2379 belongs to the cluster cdf, expected was abc/);
  });
});
