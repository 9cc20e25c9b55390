import assert from "node:assert/strict";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { test } from "vitest";
import { checkBytes, decodedAnswer } from "./answer-bounds.ts";
import {
  AuthUserListResponseSchema,
  LeaseLeasesResponseSchema,
  MemberListResponseSchema,
  StatusResponseSchema,
  TxnResponseSchema,
  WatchResponseSchema,
} from "./proto/etcdserverpb/rpc_pb.js";

function encoded<S extends DescMessage>(schema: S, init: MessageInitShape<S>): Uint8Array {
  return toBinary(schema, create(schema, init));
}

function isTooLarge(words: string): (thrown: unknown) => boolean {
  return (thrown) => {
    assert.ok(thrown instanceof ConnectError && thrown.code === Code.ResourceExhausted, String(thrown));
    assert.equal(thrown.rawMessage, words);
    return true;
  };
}

const bytes = [
  { name: "Status", most: 65_536 },
  { name: "SomethingNew", most: 65_536 },
  { name: "MemberList", most: 65_536 },
  { name: "UserList", most: 4_194_304 },
  { name: "Range", most: 2_097_152 },
  { name: "Snapshot", most: 1_048_576 },
  { name: "Watch", most: 16_777_216 },
  { name: "LeaseLeases", most: 67_108_864 },
  { name: "Txn", most: 67_108_864 },
];
test.each(bytes)("a response to $name may have at most $most bytes", ({ name, most }) => {
  checkBytes({ name }, most);
  assert.throws(
    () => checkBytes({ name }, most + 1),
    isTooLarge(`the answer to ${name} has ${most + 1} bytes; it may have ${most}`),
  );
});

test("elements of lists and unknown fields count towards a response's limit of fields", () => {
  const output = StatusResponseSchema;
  const errors = encoded(output, { errors: Array.from({ length: 1_000 }, () => "") });
  assert.equal(decodedAnswer({ name: "Status", output }, errors).errors.length, 1_000);
  const unknown = Buffer.from([0xfa, 0x7f, 0]);
  assert.throws(
    () => decodedAnswer({ name: "Status", output }, Buffer.concat([errors, unknown])),
    isTooLarge("the answer to Status has more than 1000 fields"),
  );
});

test("fields of messages in lists count towards a response's limit of fields", () => {
  const output = MemberListResponseSchema;
  const peerURLs = Array.from({ length: 3 }, () => "");
  const of = (members: number) => encoded(output, { members: Array.from({ length: members }, () => ({ peerURLs })) });
  assert.equal(decodedAnswer({ name: "MemberList", output }, of(500)).members.length, 500); // 4 fields each
  assert.throws(
    () => decodedAnswer({ name: "MemberList", output }, of(501)),
    isTooLarge("the answer to MemberList has more than 2000 fields"),
  );
});

test("unknown fields of a response are dropped", () => {
  const output = StatusResponseSchema;
  const answer = Buffer.concat([encoded(output, { version: "3.6.16" }), Buffer.from([0xfa, 0x7f, 1, 7])]);
  const decoded = decodedAnswer({ name: "Status", output }, answer);
  assert.equal(decoded.version, "3.6.16");
  assert.equal(decoded.$unknown, undefined);
});

test("a response may have a hundred thousand user names, and no more", () => {
  const output = AuthUserListResponseSchema;
  const of = (names: number) =>
    encoded(output, { users: Array.from({ length: names }, (_, n) => `user-${n}-of-an-application`) });
  assert.equal(decodedAnswer({ name: "UserList", output }, of(100_000)).users.length, 100_000);
  assert.throws(
    () => decodedAnswer({ name: "UserList", output }, of(100_001)),
    isTooLarge("the answer to UserList has more than 100000 fields"),
  );
});

test("a watch response may have as many changes as etcd puts into it", () => {
  // etcd splits at 2 MiB: 1.5 MiB for a request, and 512 KiB. Deletions of short keys are the most changes that fit.
  const output = WatchResponseSchema;
  const change = encoded(output, { events: [{ type: 1, kv: { key: Buffer.from("k"), modRevision: 200n } }] });
  const part = (changes: number) => Buffer.alloc(changes * change.length, change);
  assert.ok(part(175_000).length > 2 * 1024 ** 2, String(change.length));
  assert.equal(decodedAnswer({ name: "Watch", output }, part(250_000)).events.length, 250_000); // 5 fields each
  assert.throws(
    () => decodedAnswer({ name: "Watch", output }, part(250_001)),
    isTooLarge("the answer to Watch has more than 1250000 fields"),
  );
});

test.each([
  // One key of a revision has 5 fields, as many as 5 of the two-byte fields that are repeated here.
  ["a revision that deletes 1,250,000 keys", "Txn", TxnResponseSchema, 5 * 1_250_000],
  ["a million leases", "LeaseLeases", LeaseLeasesResponseSchema, 2 * 1_000_000],
] as const)("the temporary etcd of a restore may respond with the fields of %s", (_, name, output, fields) => {
  const answer = Buffer.alloc(2 * fields, Buffer.from([16, 1]));
  checkBytes({ name }, answer.length);
  assert.ok(decodedAnswer({ name, output }, answer));
});

test("a response that is not a protobuf message is an error", () => {
  const output = StatusResponseSchema;
  assert.throws(() => decodedAnswer({ name: "Status", output }, Buffer.from([0x0a, 0x7f, 1])));
});
