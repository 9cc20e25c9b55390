import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  AlarmResponseSchema,
  AuthRoleGetResponseSchema,
  AuthUserListResponseSchema,
  HashKVResponseSchema,
  MemberListResponseSchema,
  RangeResponseSchema,
  SnapshotResponseSchema,
  StatusResponseSchema,
  WatchResponseSchema,
} from "#etcd/proto/etcdserverpb/rpc_pb.js";
import type { Random } from "#kit/world/random.ts";
import type { CallName } from "./member-calls.ts";
import { Flag, frame, GREETING, GRPC_HEAD, GRPC_OK, literal, message, settings, Type, word } from "./raw-http2.ts";

// Nearly valid answers and frames, made from a seed.

const header = { clusterId: 0x1234n, memberId: 0x5678n, revision: 9n, raftTerm: 3n };
const member = { ID: 0x5678n, name: "db-0", peerURLs: ["https://db-0.db:2380"], clientURLs: ["https://db-0.db:2379"] };
const kv = { key: Buffer.from("key"), value: Buffer.from("value"), modRevision: 8n, version: 1n };

function encoded<S extends DescMessage>(schema: S, init: MessageInitShape<S>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, init)));
}

/** A valid answer of etcd, for some calls. */
export const VALID: ReadonlyMap<CallName, Buffer> = new Map<CallName, Buffer>([
  [
    "status",
    encoded(StatusResponseSchema, {
      header,
      version: "3.6.16",
      dbSize: 20_480n,
      leader: 0x5678n,
      raftIndex: 10n,
      raftTerm: 3n,
      raftAppliedIndex: 10n,
      errors: ["memberID:22136  alarm:NOSPACE "],
      dbSizeInUse: 16_384n,
      storageVersion: "3.6.0",
      downgradeInfo: { enabled: true, targetVersion: "3.5.0" },
    }),
  ],
  [
    "memberList",
    encoded(MemberListResponseSchema, { header, members: [member, { ...member, ID: 7n, isLearner: true }] }),
  ],
  ["alarms", encoded(AlarmResponseSchema, { header, alarms: [{ memberID: 7n, alarm: 1 }] })],
  ["hashKv", encoded(HashKVResponseSchema, { header, hash: 77, compactRevision: 2n, hashRevision: 9n })],
  ["get", encoded(RangeResponseSchema, { header, kvs: [kv], count: 1n })],
  ["userList", encoded(AuthUserListResponseSchema, { header, users: ["root", "app"] })],
  [
    "roleGet",
    encoded(AuthRoleGetResponseSchema, {
      header,
      perm: [{ permType: 2, key: Buffer.from("a"), rangeEnd: Buffer.from("b") }],
    }),
  ],
  [
    "watch",
    encoded(WatchResponseSchema, {
      header,
      watchId: 1n,
      created: true,
      events: [
        { type: 0, kv },
        { type: 1, kv },
      ],
    }),
  ],
  [
    "snapshot",
    encoded(SnapshotResponseSchema, { header, remainingBytes: 3n, blob: Buffer.from("blob"), version: "3.6.16" }),
  ],
]);

/** The bytes with a few changes. */
export function mutated(valid: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(valid);
  for (let n = random.between(1, 4); n > 0; n--) bytes = mutatedOnce(bytes, random);
  return bytes;
}

function mutatedOnce(bytes: Buffer<ArrayBuffer>, random: Random): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const to = random.between(at, bytes.length);
  switch (random.below(6)) {
    case 0: // one bit
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 1: // one byte
      if (at < bytes.length) bytes[at] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.below(256)]) ?? 0;
      return bytes;
    case 2: // less
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 3: // a part twice
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 4: // a part many times
      return Buffer.concat([
        bytes.subarray(0, at),
        ...Array.from({ length: 50 }, () => bytes.subarray(at, to)),
        bytes.subarray(to),
      ]);
    default: // noise
      return Buffer.concat([bytes.subarray(0, at), noise(random.below(30), random), bytes.subarray(at)]);
  }
}

export function noise(length: number, random: Random): Buffer<ArrayBuffer> {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

/** Frames after a valid beginning: most are valid, some are broken. */
export function fuzzedFrames(stream: number, valid: Buffer, random: Random): Buffer {
  const frames: Buffer[] = [];
  for (let n = random.between(2, 12); n > 0; n--) {
    const next = fuzzedFrame(
      random.chance(0.85) ? stream : (random.pick([0, 1, 2, 3, 77, 0x7fffffff]) ?? 0),
      valid,
      random,
    );
    frames.push(random.chance(0.1) ? mutated(next, random) : next);
  }
  return Buffer.concat(frames);
}

function fuzzedFrame(stream: number, valid: Buffer, random: Random): Buffer {
  const flags = (): number => random.pick([0, 0, 1, 4, 5, 8, 0x20, 0xff]) ?? 0;
  const code = (): Buffer => word(random.below(16));
  switch (random.below(14)) {
    case 0:
    case 1:
      return frame(Type.headers, random.chance(0.8) ? Flag.endHeaders : flags(), stream, GRPC_HEAD);
    case 2:
    case 3:
      return frame(Type.data, random.chance(0.8) ? 0 : flags(), stream, message(valid));
    case 4:
      return frame(
        Type.data,
        flags(),
        stream,
        message(mutated(valid, random), random.chance(0.5) ? valid.length : undefined),
      );
    case 5:
      return frame(Type.headers, random.chance(0.8) ? Flag.endHeaders | Flag.endStream : flags(), stream, GRPC_OK);
    case 6:
      return frame(
        Type.headers,
        Flag.endHeaders | random.below(2),
        stream,
        Buffer.concat([literal(":status", "103"), literal("a", "b")]),
      );
    case 7:
      return frame(Type.continuation, flags(), stream, literal("x", "y".repeat(random.below(300))));
    case 8:
      return frame(
        Type.push,
        Flag.endHeaders,
        stream,
        Buffer.concat([word(2 * random.below(50)), literal(":path", "/x")]),
      );
    case 9:
      return settings([random.below(9), random.below(0xffffffff)], [4, random.below(0x7fffffff)]);
    case 10:
      return frame(Type.window, 0, random.chance(0.5) ? 0 : stream, word(random.below(0x7fffffff)));
    case 11:
      return frame(Type.goaway, 0, 0, Buffer.concat([word(random.below(9)), code()]));
    case 12:
      return frame(Type.reset, 0, stream, code());
    default:
      return frame(random.below(256), flags(), stream, noise(random.below(60), random));
  }
}

/** The bytes before the frames. */
export function fuzzedGreeting(random: Random): Buffer {
  return random.chance(0.9) ? GREETING : settings([random.below(7), random.below(70_000)]);
}
