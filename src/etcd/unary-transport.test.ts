import assert from "node:assert/strict";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { Worker } from "node:worker_threads";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { afterEach, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { SOON_MS } from "#kit/time/soon.ts";
import { Connection, openOn } from "./connection.ts";
import {
  KV,
  Maintenance,
  RangeResponseSchema,
  ResponseHeaderSchema,
  StatusResponseSchema,
} from "./proto/etcdserverpb/rpc_pb.js";
import { unaryTransport } from "./unary-transport.ts";

const GRPC = { ":status": 200, "content-type": "application/grpc" };
const message = toBinary(
  StatusResponseSchema,
  create(StatusResponseSchema, { header: create(ResponseHeaderSchema, { clusterId: 7n }), version: "3.6.16" }),
);
const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);

let server: Http2Server | undefined;
const connections: Connection[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.abort();
  server?.close();
});

/** A transport to this port, over a new connection whenever the last one has ended. */
function transportTo(port: number): Transport {
  const current = (): Connection => {
    const last = connections.at(-1);
    if (last?.isOver === false) return last;
    const next = new Connection({
      origin: `http://127.0.0.1:${port}`,
      clock: systemClock,
      standsWithinMs: 10_000,
      idleMs: () => 60_000,
    });
    connections.push(next);
    return next;
  };
  return unaryTransport((headers) => openOn(current, headers));
}

interface Asked {
  readonly kv: Client<typeof KV>;
  readonly status: (options?: { signal?: AbortSignal; timeoutMs?: number }) => Promise<string>;
}

/** A client of a server with this answer to each call. */
async function over(
  answer: (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void,
): Promise<Asked> {
  const own = createServer();
  server = own;
  own.on("stream", (stream, headers) => {
    stream.on("error", () => undefined).resume();
    answer(stream, headers);
  });
  await new Promise<void>((done) => own.listen(0, "127.0.0.1", done));
  const transport = transportTo((own.address() as AddressInfo).port);
  const client = createClient(Maintenance, transport);
  const kv = createClient(KV, transport);
  return { kv, status: async (options) => (await client.status({}, options)).version };
}

function succeed(stream: ServerHttp2Stream, parts: readonly Buffer[]): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  for (const part of parts) stream.write(part);
  stream.end();
}

function failsWith(code: Code, words: string, hasStatus: boolean) {
  return (thrown: unknown): boolean => {
    assert.ok(thrown instanceof ConnectError, String(thrown));
    assert.equal(thrown.code, code);
    assert.ok(thrown.rawMessage.includes(words), thrown.rawMessage);
    assert.equal(thrown.metadata.has("grpc-status"), hasStatus);
    return true;
  };
}

test("a response message that arrives in parts is read as one", async () => {
  const asked = await over((stream) =>
    succeed(stream, [frame.subarray(0, 3), frame.subarray(3, 9), frame.subarray(9)]),
  );
  assert.equal(await asked.status(), "3.6.16");
});

test("bytes of a response are copied, so that they do not retain the socket's buffer", async () => {
  const answer = toBinary(RangeResponseSchema, create(RangeResponseSchema, { kvs: [{ key: Buffer.from("k") }] }));
  const given = Buffer.concat([Buffer.from([0, 0, 0, 0, answer.length]), answer]);
  const asked = await over((stream) => succeed(stream, [given]));
  const [found] = (await asked.kv.range({})).kvs;
  assert.deepEqual(found?.key, new Uint8Array([0x6b]));
  assert.equal(found.key.buffer.byteLength, answer.length);
});

test("a request has the gRPC deadline, path and headers", async () => {
  let received: Readonly<Record<string, unknown>> = {};
  const asked = await over((stream, headers) => {
    received = headers;
    succeed(stream, [frame]);
  });
  await asked.status({ timeoutMs: 4_321 });
  assert.equal(received["grpc-timeout"], "4321m");
  assert.equal(received[":path"], "/etcdserverpb.Maintenance/Status");
  assert.equal(received.te, "trailers");
  assert.equal(received["content-type"], "application/grpc+proto");
});

const text = encodeURIComponent("etcdserver: no leader; 100 %");
const refusals = [
  {
    name: "in the trailers",
    answer: (stream: ServerHttp2Stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "14", "grpc-message": text }));
      stream.end();
    },
  },
  {
    name: "in a response of headers only",
    answer: (stream: ServerHttp2Stream) =>
      stream.respond({ ...GRPC, "grpc-status": "14", "grpc-message": text }, { endStream: true }),
  },
];
/** An HTTP/2 frame of the first stream or of the connection: https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */
function raw(type: number, flags: number, payload = Buffer.alloc(0), stream = 1): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header field as it is written without any compression. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const STATUS_200 = Buffer.concat([Buffer.from([0x88]), literal("content-type", "application/grpc")]);
const NOT_YOU = Buffer.concat([literal("grpc-status", "7"), literal("grpc-message", "not you")]);
const cutOff = [
  { name: "in headers only", frames: [raw(1, 4, Buffer.concat([STATUS_200, NOT_YOU]))] },
  { name: "in headers that end the stream", frames: [raw(1, 5, Buffer.concat([STATUS_200, NOT_YOU]))] },
  { name: "in the trailers", frames: [raw(1, 4, STATUS_200), raw(1, 5, NOT_YOU)] },
];
test.each(cutOff)("a gRPC status $name is read, even when the stream is reset right after it", async ({ frames }) => {
  // A server may refuse a long request before it has read it. Node's own server sends the refusal and the reset apart.
  for (const code of [0, 2, 8]) {
    const reset = Buffer.alloc(4);
    reset.writeUInt32BE(code);
    const answer = Buffer.concat([raw(4, 0, undefined, 0), raw(4, 1, undefined, 0), ...frames, raw(3, 0, reset)]);
    const raws = createTcpServer((socket) => {
      socket.on("error", () => undefined).resume();
      socket.once("data", () => setTimeout(() => socket.write(answer), 20));
    });
    await new Promise<void>((done) => raws.listen(0, "127.0.0.1", done));
    const transport = transportTo((raws.address() as AddressInfo).port);
    const asked = createClient(KV, transport).put({ value: Buffer.alloc(1_000_000) }, { timeoutMs: 10_000 });
    await assert.rejects(asked, failsWith(Code.PermissionDenied, "not you", true));
    for (const connection of connections.splice(0)) connection.abort();
    raws.close();
  }
});

const LARGE = 400 * 1024;

test("several responses larger than the flow-control window are read completely", async () => {
  const answer = toBinary(
    RangeResponseSchema,
    create(RangeResponseSchema, { kvs: [{ value: Buffer.alloc(LARGE, 7) }] }),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(answer.length, 1);
  const parts = [head, Buffer.from(answer.subarray(0, 70_000)), Buffer.from(answer.subarray(70_000))];
  const asked = await over((stream) => succeed(stream, parts));
  // Together more than a connection may receive without a window update.
  const all = await Promise.all(Array.from({ length: 20 }, () => asked.kv.range({}, { timeoutMs: 20_000 })));
  for (const { kvs } of all) {
    assert.equal(kvs[0]?.value.length, LARGE);
    assert.ok(kvs[0].value.every((byte) => byte === 7));
  }
});

test("a call that is open at the server's GOAWAY is answered, and the next call opens another connection", async () => {
  const open: ServerHttp2Stream[] = [];
  const sessions_ = new Set<unknown>();
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const asked = await over((stream) => {
    sessions_.add(stream.session);
    open.push(stream);
    if (open.length === 1) {
      stream.session?.goaway(0);
      resolve();
    } else succeed(stream, [frame]);
  });
  const first = asked.status({ timeoutMs: 10_000 });
  await arrived;
  await vi.waitFor(async () => assert.equal(await asked.status({ timeoutMs: 5_000 }), "3.6.16"), SOON_MS);
  succeed(open[0]!, [frame]);
  assert.equal(await first, "3.6.16");
  assert.equal(sessions_.size, 2);
});

test.each(refusals)("a gRPC status $name is the server's own", async ({ answer }) => {
  const asked = await over(answer);
  await assert.rejects(asked.status(), failsWith(Code.Unavailable, "etcdserver: no leader; 100 %", true));
});

const broken: { name: string; answer: (stream: ServerHttp2Stream) => void; words: string }[] = [
  { name: "a closed stream", answer: (stream) => stream.close(2), words: "" },
  { name: "a stream that the server cancels", answer: (stream) => stream.close(8), words: "" },
  { name: "a lost connection", answer: (stream) => stream.session?.destroy(), words: "" },
  {
    name: "another HTTP status",
    answer: (stream) => {
      stream.respond({ ":status": 502 });
      stream.end("bad gateway");
    },
    words: "HTTP status 502",
  },
  { name: "half a message", answer: (stream) => succeed(stream, [frame.subarray(0, 9)]), words: "not one message" },
  { name: "no message", answer: (stream) => succeed(stream, []), words: "not one message" },
  {
    name: "a compressed message",
    answer: (stream) => succeed(stream, [Buffer.concat([Buffer.from([1]), frame.subarray(1)])]),
    words: "not one message",
  },
];
test.each(broken)("$name is an error without a gRPC status of the server", async ({ answer, words }) => {
  const asked = await over(answer);
  await assert.rejects(asked.status(), (thrown) => {
    assert.ok(thrown instanceof ConnectError, String(thrown));
    assert.ok(thrown.rawMessage.includes(words), thrown.rawMessage);
    return !thrown.metadata.has("grpc-status") && thrown.code !== Code.DeadlineExceeded;
  });
});

test("a response that is too large is not read to its end", async () => {
  const head = Buffer.from([0, 0, 2, 0, 0]);
  const asked = await over((stream) => succeed(stream, [head, Buffer.alloc(0x20000)]));
  const text = "the answer to Status has 131072 bytes; it may have 65536";
  await assert.rejects(asked.status(), failsWith(Code.ResourceExhausted, text, false));
});

test("the client's deadline ends the call and its stream", async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const asked = await over((stream) => stream.on("close", () => resolve()));
  await assert.rejects(asked.status({ timeoutMs: 50 }), failsWith(Code.DeadlineExceeded, "timed out", false));
  await closed;
});

test("a signal cancels a call before it is sent and while it waits", async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const asked = await over(() => resolve());
  await assert.rejects(asked.status({ signal: AbortSignal.abort() }), failsWith(Code.Canceled, "aborted", false));
  const stop = new AbortController();
  const waiting = asked.status({ signal: stop.signal });
  await arrived;
  stop.abort();
  await assert.rejects(waiting, failsWith(Code.Canceled, "aborted", false));
});

test("a refused connection is an error with the network error's code", async () => {
  await assert.rejects(
    createClient(Maintenance, transportTo(1)).status({}),
    failsWith(Code.Unavailable, "ECONNREFUSED", false),
  );
});

/**
 * A server in its own thread that reads a request late, reports the bytes it got when the stream ends, and never
 * answers.
 */
const SLOW_READER = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:http2").createServer();
  server.on("stream", (stream) => {
    let bytes = 0;
    parentPort.postMessage({ asked: true });
    stream.on("error", () => undefined).on("close", () => parentPort.postMessage({ bytes }));
    setTimeout(() => stream.on("data", (chunk) => (bytes += chunk.length)), 300);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage({ port: server.address().port }));
`;

test("bytes that are unsent at the deadline are never sent, even when the process was blocked", async () => {
  const worker = new Worker(SLOW_READER, { eval: true });
  const received: { port?: number; asked?: boolean; bytes?: number }[] = [];
  worker.on("message", (message) => received.push(message));
  try {
    await vi.waitFor(() => assert.ok(received[0]?.port), SOON_MS);
    const client = createClient(KV, transportTo(received[0]?.port ?? 0));
    const size = 200_000;
    const put = client.put({ value: Buffer.alloc(size) }, { timeoutMs: 200 });
    const refused = assert.rejects(put, failsWith(Code.DeadlineExceeded, "timed out", false));
    await vi.waitFor(() => assert.ok(received[1]?.asked), { interval: 1, timeout: SOON_MS });
    // After this the server has read the first bytes, and has sent a window update.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await refused;
    await vi.waitFor(() => assert.ok(received[2]?.bytes !== undefined), SOON_MS);
    assert.ok((received[2]?.bytes ?? size) < size, `${received[2]?.bytes} bytes`);
  } finally {
    await worker.terminate();
  }
});
