import type { CallName } from "./member-calls.ts";
import { Flag, frame, GRPC_HEAD, GRPC_OK, message, type RawScript, Type } from "./raw-http2.ts";

// Answers that are small on the wire and large in memory.

/** Sends this message again and again, as fast as the client reads. */
export function answering(bytes: Uint8Array): RawScript {
  return {
    onRequest: (connection, stream) => {
      connection.send(frame(Type.headers, Flag.endHeaders, stream, GRPC_HEAD));
      const all = message(bytes);
      let at = 0;
      const next = (): Buffer | undefined => {
        if (at >= all.length) return undefined;
        at += 16_384;
        return frame(Type.data, Flag.none, stream, all.subarray(at - 16_384, at));
      };
      void connection
        .pour(stream, next)
        .then(() => connection.send(frame(Type.headers, Flag.endHeaders | Flag.endStream, stream, GRPC_OK)));
    },
  };
}

/**
 * One field with its content.
 * @param number from 1 to 15
 */
export function field(number: number, content: Uint8Array): Buffer {
  const bytes = [number * 8 + 2];
  let length = content.length;
  for (; length >= 0x80; length >>>= 7) bytes.push((length & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...bytes, length]), content]);
}

/** Copies of a piece, as many as fit into this many bytes. */
function filled(piece: Buffer, bytes: number): Buffer {
  const copies = Math.floor(bytes / piece.length);
  return Buffer.alloc(copies * piece.length, piece);
}

const MIB = 1_024 ** 2;
const EMPTY = new Uint8Array();
/** An empty member, value or event. */
const nothing = (number: number): Buffer => field(number, EMPTY);
/** An unknown, empty field. */
const UNKNOWN = Buffer.from([0xfa, 0x7f, 0]);
/** A change: a deletion with a key of 8 bytes. */
const CHANGE = field(11, Buffer.concat([Buffer.from([8, 1]), field(2, field(1, Buffer.alloc(8, 7)))]));

export interface Bomb {
  readonly name: string;
  readonly call: CallName;
  readonly bytes: Buffer;
  /** Whether it is within the limits, and accepted. */
  readonly isTaken?: boolean;
}

/** The first three show what an answer of 16 MiB could do when only its bytes were limited. */
export const BOMBS: readonly Bomb[] = [
  { name: "eight million empty members", call: "memberList", bytes: filled(nothing(2), 16 * MIB - 10) },
  { name: "sixteen MiB of unknown fields", call: "status", bytes: filled(UNKNOWN, 16 * MIB - 10) },
  { name: "eight million empty values", call: "get", bytes: filled(nothing(2), 16 * MIB - 10) },
  { name: "as many empty members as fit", call: "memberList", bytes: filled(nothing(2), 65_530) },
  { name: "as many complaints as fit", call: "status", bytes: filled(field(8, EMPTY), 65_530) },
  { name: "2 MiB of unknown fields", call: "get", bytes: filled(UNKNOWN, 2 * MIB - 10) },
  { name: "a million empty values", call: "get", bytes: filled(nothing(2), 2 * MIB - 10) },
  { name: "two million empty names", call: "userList", bytes: filled(nothing(2), 4 * MIB - 10) },
  { name: "a member with many URLs", call: "memberList", bytes: field(2, filled(nothing(3), 65_000)) },
  { name: "half a million empty permissions", call: "roleGet", bytes: filled(nothing(2), MIB - 10) },
  { name: "eight million empty changes", call: "watch", bytes: filled(nothing(11), 16 * MIB - 10) },
  { name: "a change with many copies of its key", call: "watch", bytes: field(11, filled(nothing(2), 8 * MIB)) },
  { name: "sixteen MiB of unknown fields in a change", call: "watch", bytes: field(11, filled(UNKNOWN, 15 * MIB)) },
  {
    name: "sixteen MiB of a number, again and again",
    call: "watch",
    bytes: filled(Buffer.from([16, 1]), 16 * MIB - 10),
  },
  { name: "nested without an end", call: "txn", bytes: nested(10_000) },
  {
    name: "99,000 names of 40 bytes",
    call: "userList",
    bytes: filled(field(2, Buffer.alloc(38, 97)), 99_000 * 40),
    isTaken: true,
  },
  {
    name: "9,900 permissions of 100 bytes",
    call: "roleGet",
    bytes: filled(field(2, field(2, Buffer.alloc(96, 97))), MIB - 60_000),
    isTaken: true,
  },
  { name: "a value of 1.5 MiB", call: "get", bytes: field(2, field(5, Buffer.alloc(1.5 * MIB, 97))), isTaken: true },
  { name: "250,000 changes", call: "watch", bytes: filled(CHANGE, 250_000 * CHANGE.length), isTaken: true },
];

/** Nested answers of transactions. */
function nested(levels: number): Buffer {
  let bytes: Buffer = Buffer.alloc(0);
  for (let n = 0; n < levels && bytes.length < MIB; n++) bytes = field(3, field(4, bytes));
  return bytes;
}
