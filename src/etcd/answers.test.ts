import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { test } from "vitest";
import { hasCode } from "#base/error.ts";
import { memberListOf, memberOf, statusOf } from "./answers.ts";
import { MemberSchema, ResponseHeaderSchema, StatusResponseSchema } from "./proto/etcdserverpb/rpc_pb.js";

const header = (clusterId: bigint, memberId: bigint) => create(ResponseHeaderSchema, { clusterId, memberId });
const status = (...errors: string[]) => create(StatusResponseSchema, { version: "3.6.16", errors });
const refused = (thrown: unknown) => hasCode(thrown, "EtcdRejected");

test("a response with a cluster or member ID of 0 is refused", () => {
  assert.throws(() => statusOf(header(0n, 7n), status()), refused);
  assert.throws(() => statusOf(header(7n, 0n), status()), refused);
  assert.throws(() => memberListOf(header(0n, 7n), []), refused);
  assert.throws(() => memberListOf(header(7n, 0n), []), refused);
  assert.throws(() => memberOf(create(MemberSchema, { ID: 0n })), refused);
});

const alarms = [
  {
    text: "memberID:10501334649042878790 alarm:NOSPACE ",
    alarms: [{ memberId: 10501334649042878790n, type: "NOSPACE" }],
  },
  { text: "alarm:CORRUPT ", alarms: [{ memberId: undefined, type: "CORRUPT" }] },
  { text: `memberID:${2n ** 64n - 1n} alarm:SOON`, alarms: [{ memberId: 2n ** 64n - 1n, type: "UNKNOWN" }] },
  { text: `memberID:${2n ** 64n} alarm:NOSPACE`, alarms: [] },
  { text: `memberID:${"9".repeat(10_000)} alarm:NOSPACE`, alarms: [] },
  { text: "etcdserver: no leader", alarms: [] },
];
test.each(alarms)("alarms are read from the error $text of a Status response", ({ text, alarms: expected }) => {
  assert.deepEqual(statusOf(header(1n, 2n), status(text)).alarms, expected);
});
