import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { test } from "vitest";
import { framed, MessageReader, Verdict } from "./grpc-frames.ts";

const unbounded = (): void => undefined;

function readAll(pieces: readonly Buffer[], check: (bytes: number) => void = unbounded): string[] {
  const reader = new MessageReader(check);
  return pieces.flatMap((piece) => reader.add(piece)).map((message) => Buffer.from(message).toString());
}

const WORDS = Buffer.concat(["hello", "", "world"].map((text) => framed(Buffer.from(text))));

test.each([1, 2, 3, 5, 7, 100])("gRPC messages are assembled from pieces of %i bytes", (size) => {
  const pieces: Buffer[] = [];
  for (let at = 0; at < WORDS.length; at += size) pieces.push(WORDS.subarray(at, at + size));
  assert.deepEqual(readAll(pieces), ["hello", "", "world"]);
});

test("a gRPC message's size is checked before its bytes are kept", () => {
  const checked: number[] = [];
  const refuse = (bytes: number): void => {
    checked.push(bytes);
    throw new Error("too large");
  };
  assert.throws(() => readAll([Buffer.from([0, 0xff, 0xff, 0xff, 0xff])], refuse), /too large/);
  assert.deepEqual(checked, [0xffffffff]);
});

test("a compressed gRPC message is refused", () => {
  assert.throws(() => readAll([Buffer.from([1, 0, 0, 0, 0])]), /compressed/);
});

test("the reader reports whether it is within a gRPC message", () => {
  const reader = new MessageReader(unbounded);
  const isWithin = [...WORDS].map((byte) => {
    reader.add(Buffer.from([byte]));
    return reader.isWithin;
  });
  assert.deepEqual(
    isWithin.flatMap((within, at) => (within ? [] : [at])),
    [9, 14, 24],
  );
});

test("a gRPC message may have 64 small pieces, and more pieces of at least 256 bytes on average", () => {
  const length = 60_000;
  const add = (pieces: number, size: number): void => {
    const reader = new MessageReader(unbounded);
    reader.add(framed(Buffer.alloc(length)).subarray(0, 5) as Buffer);
    for (let n = 1; n < pieces; n++) reader.add(Buffer.alloc(size));
  };
  add(64, 1);
  assert.throws(
    () => add(65, 1),
    (thrown) => thrown instanceof ConnectError && thrown.code === Code.ResourceExhausted,
  );
  add(200, 256);
});

test("the count of pieces starts again with each gRPC message", () => {
  const reader = new MessageReader(unbounded);
  const bytes = framed(Buffer.from("x".repeat(50)));
  for (let messages = 0; messages < 10; messages++) {
    for (const byte of bytes) reader.add(Buffer.from([byte]));
  }
  assert.equal(reader.isWithin, false);
});

const head = (headers: object): IncomingHttpHeaders => headers as IncomingHttpHeaders;

test("an HTTP status other than 200 is an error, unless the response has a gRPC status", () => {
  assert.throws(() => new Verdict().head(head({ ":status": 502 })), /HTTP status 502/);
  const verdict = new Verdict();
  verdict.head(head({ ":status": 503, "grpc-status": "14" }));
  assert.equal(verdict.isGiven, true);
});

const refusals = [
  { name: "is percent-decoded", text: "no%20leader", message: "no leader" },
  { name: "is unchanged when it is badly encoded", text: "100%", message: "100%" },
  { name: "is truncated", text: "a".repeat(70_000), message: `${"a".repeat(1_000)}…` },
  { name: "is truncated between encoded characters", text: "%20".repeat(1_001), message: `${" ".repeat(1_000)}` },
];
test.each(refusals)("the message of a gRPC status $name", ({ text, message }) => {
  const verdict = new Verdict();
  verdict.trailers({ "grpc-status": "13", "grpc-message": text });
  assert.throws(
    () => verdict.check(0),
    (thrown) => {
      assert.ok(thrown instanceof ConnectError && thrown.code === Code.Internal);
      assert.equal(thrown.rawMessage, message);
      return true;
    },
  );
});

test.each(["x", "99", "-1", "1e1", "Canceled"])("gRPC status %s is invalid, and becomes Unknown", (status) => {
  const verdict = new Verdict();
  verdict.trailers({ "grpc-status": status });
  assert.throws(
    () => verdict.check(0),
    (thrown) => thrown instanceof ConnectError && thrown.code === Code.Unknown,
  );
});

test("a stream that ends without a gRPC status is an error", () => {
  assert.throws(() => new Verdict().check(8), /without an answer \(code 8\)/);
});
