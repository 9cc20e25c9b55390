import {
  dataFrames,
  Flag,
  frame,
  GREETING,
  GRPC_HEAD,
  GRPC_OK,
  indexed,
  literal,
  message,
  type RawConnection,
  type RawScript,
  settings,
  Type,
  word,
} from "./raw-http2.ts";

// Attacks of a hostile member on an HTTP/2 connection. By default an attack starts with the client's first request.

const EMPTY: Buffer = Buffer.alloc(0);
const KIB_16 = Buffer.alloc(16_384, 7);

/** A message with one unknown field. */
const UNKNOWN_FIELD = Buffer.from([0xfa, 0x7f, 3, 1, 2, 3]);

function head(stream: number, flags: number = Flag.endHeaders, block: Buffer = GRPC_HEAD): Buffer {
  return frame(Type.headers, flags, stream, block);
}

function trailers(stream: number, block: Buffer = GRPC_OK): Buffer {
  return frame(Type.headers, Flag.endHeaders | Flag.endStream, stream, block);
}

/** A promise to push the answer to a request that was never made. */
function push(stream: number, promised = 2): Buffer {
  const request = [
    literal(":method", "GET"),
    literal(":scheme", "http"),
    literal(":path", "/x"),
    literal(":authority", "x"),
  ];
  return frame(Type.push, Flag.endHeaders, stream, Buffer.concat([word(promised), ...request]));
}

function goaway(code: number, last = 0x7fffffff): Buffer {
  return frame(Type.goaway, Flag.none, 0, Buffer.concat([word(last), word(code)]));
}

function reset(stream: number, code: number): Buffer {
  return frame(Type.reset, Flag.none, stream, word(code));
}

/** Many copies, so that the client has more work than the attacker. */
function many(bytes: Buffer, times = Math.ceil(65_536 / bytes.length)): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => bytes));
}

/** Headers that take one byte each on the wire and 4 kB each in memory. */
function hpackBomb(times: number): Buffer {
  return Buffer.concat([indexed("a", "x".repeat(3_900)), Buffer.alloc(times, 0xbe)]);
}

function after(run: (connection: RawConnection, stream: number) => void): RawScript {
  return { onRequest: run };
}

function flood(make: (stream: number) => Buffer, first: (stream: number) => Buffer = () => EMPTY): RawScript {
  return after((connection, stream) => {
    connection.send(first(stream));
    const frames = make(stream);
    void connection.flood(() => frames);
  });
}

/** Frames with a number that differs each time, so that a client that remembers them runs out of memory. */
function counted(make: (n: number, stream: number) => Buffer): RawScript {
  return after((connection, stream) => {
    let n = 0;
    void connection.flood(() => Buffer.concat(Array.from({ length: 200 }, () => make(n++, stream))));
  });
}

/** DATA within the client's flow control windows. */
function pour(next: (stream: number) => Buffer): RawScript {
  return after((connection, stream) => {
    connection.send(head(stream));
    const data = next(stream);
    void connection.pour(stream, () => data);
  });
}

export const ATTACKS: Readonly<Record<string, RawScript>> = {
  "a push, then the connection is reset": after((connection, stream) => {
    connection.send(push(stream));
    setTimeout(() => connection.socket.resetAndDestroy(), 20);
  }),
  "a push, then GOAWAY with an error": after((connection, stream) => {
    connection.send(push(stream));
    setTimeout(() => connection.send(goaway(2, 0)), 20);
  }),
  "a push and GOAWAY with an error at once": after((connection, stream) =>
    connection.send(head(stream), push(stream), goaway(11)),
  ),
  "a push, then the pushed stream is reset": after((connection, stream) =>
    connection.send(push(stream), reset(2, 2), head(stream)),
  ),
  "a push before any settings": {
    onGreeted: () => undefined,
    onRequest: (connection, stream) => {
      connection.send(settings(), push(stream), head(2, Flag.endHeaders, Buffer.from([0x88])));
      setTimeout(() => connection.socket.resetAndDestroy(), 20);
    },
  },
  "a push with an answer that never ends": after((connection, stream) => {
    connection.send(push(stream), head(2, Flag.endHeaders, Buffer.from([0x88])));
    void connection.pour(2, () => frame(Type.data, Flag.none, 2, KIB_16));
  }),
  "pushes without an end": after((connection, stream) => {
    let promised = 0;
    const next = (): Buffer => {
      promised += 2;
      return push(stream, promised);
    };
    void connection.flood(() => Buffer.concat(Array.from({ length: 200 }, next)));
  }),
  "GOAWAY with an error": after((connection) => connection.send(goaway(1, 0))),
  "GOAWAY with an error and half an answer": after((connection, stream) =>
    connection.send(head(stream), goaway(11), dataFrames(stream, message(EMPTY, 100))),
  ),
  "GOAWAY without an end": flood(() => many(goaway(0))),
  "GOAWAY with a long reason without an end": flood(() =>
    frame(Type.goaway, 0, 0, Buffer.concat([word(0x7fffffff), word(0), KIB_16.subarray(8)])),
  ),
  "RST with each code": after((connection, stream) => {
    connection.send(...Array.from({ length: 15 }, (_, code) => reset(stream, code)));
  }),
  "RST, then an answer": after((connection, stream) =>
    connection.send(reset(stream, 7), head(stream), dataFrames(stream, message(EMPTY)), trailers(stream)),
  ),
  "RST without an end": flood((stream) => many(reset(stream, 8))),
  "the connection is reset": after((connection) => connection.socket.resetAndDestroy()),
  "the connection is reset within an answer": after((connection, stream) => {
    connection.send(head(stream), dataFrames(stream, message(EMPTY, 100)));
    setTimeout(() => connection.socket.resetAndDestroy(), 20);
  }),
  "CONTINUATION without an end": flood(
    (stream) => many(frame(Type.continuation, Flag.none, stream, literal("a", "b"))),
    (stream) => head(stream, Flag.none),
  ),
  "CONTINUATION without an end and without content": flood(
    (stream) => many(frame(Type.continuation, Flag.none, stream)),
    (stream) => head(stream, Flag.none),
  ),
  "SETTINGS without an end": flood(() => many(settings([3, 100]))),
  "SETTINGS with 2,730 values without an end": flood(() =>
    settings(...Array.from({ length: 2_730 }, () => [4, 65_535] as const)),
  ),
  "SETTINGS that change each time without an end": counted((n) => settings([4, n % 65_535], [1, n % 4_096])),
  "acknowledged SETTINGS that were not sent, without an end": flood(() => many(frame(Type.settings, Flag.ack, 0))),
  "PING without an end": flood(() => many(frame(Type.ping, Flag.none, 0, Buffer.alloc(8)))),
  "answered PING that was not sent, without an end": flood(() => many(frame(Type.ping, Flag.ack, 0, Buffer.alloc(8)))),
  "PRIORITY without an end": flood((stream) => many(frame(Type.priority, Flag.none, stream, Buffer.alloc(5)))),
  "PRIORITY of a new stream each time": counted((n) =>
    frame(Type.priority, Flag.none, 2 * n + 101, Buffer.alloc(5, 0)),
  ),
  "WINDOW_UPDATE without an end": flood((stream) => many(frame(Type.window, Flag.none, stream, word(1)))),
  "WINDOW_UPDATE beyond the largest window": after((connection, stream) =>
    connection.send(...Array.from({ length: 4 }, () => frame(Type.window, Flag.none, stream, word(0x7fffffff)))),
  ),
  "unknown frames without an end": flood(() => frame(0xfa, 0xff, 0, KIB_16)),
  "ALTSVC without an end": counted((n) =>
    frame(
      Type.altsvc,
      Flag.none,
      0,
      Buffer.concat([Buffer.from([0, 8]), Buffer.from("http://a"), Buffer.from(`h2=":${n}"`)]),
    ),
  ),
  "ORIGIN without an end": counted((n) => {
    const origin = Buffer.from(`https://${String(n).padStart(200, "x")}.example`);
    return frame(Type.origin, Flag.none, 0, Buffer.concat([Buffer.from([0, origin.length]), origin]));
  }),
  "headers of 60 kB that decompress to 250 MB": after((connection, stream) => {
    const block = hpackBomb(60_000);
    const blocks = Array.from({ length: 4 }, (_, i) => block.subarray(i * 16_384, (i + 1) * 16_384));
    connection.send(
      frame(Type.headers, Flag.none, stream, blocks[0]),
      ...blocks.slice(1).map((part, i) => frame(Type.continuation, i === 2 ? Flag.endHeaders : 0, stream, part)),
    );
  }),
  "headers that decompress to 60 MB, again and again": after((connection, stream) => {
    connection.send(
      head(stream, Flag.endHeaders, Buffer.concat([Buffer.from([0x88]), indexed("a", "x".repeat(3_900))])),
    );
    void connection.flood(() => frame(Type.headers, Flag.endHeaders, stream, Buffer.alloc(15_000, 0xbe)));
  }),
  "ten thousand headers": after((connection, stream) =>
    connection.send(head(stream, Flag.endHeaders, Buffer.concat([GRPC_HEAD, many(literal("a", "b"), 3_000)]))),
  ),
  "headers that are no headers": after((connection, stream) =>
    connection.send(head(stream, Flag.endHeaders, Buffer.alloc(100, 0xff))),
  ),
  "status 103 without an end": flood((stream) =>
    many(head(stream, Flag.endHeaders, Buffer.concat([literal(":status", "103"), literal("a", "b")]))),
  ),
  "a status that is none": after((connection, stream) =>
    connection.send(head(stream, Flag.endHeaders, literal(":status", "abc")), trailers(stream)),
  ),
  "a gRPC status that is none": after((connection, stream) =>
    connection.send(head(stream), trailers(stream, literal("grpc-status", "x".repeat(8_000)))),
  ),
  "a gRPC message that is long and badly encoded": after((connection, stream) =>
    connection.send(
      head(stream),
      trailers(stream, Buffer.concat([literal("grpc-status", "13"), literal("grpc-message", "%ff%".repeat(4_000))])),
    ),
  ),
  "trailers of 60 kB that decompress to 250 MB": after((connection, stream) => {
    const block = hpackBomb(60_000);
    const blocks = Array.from({ length: 4 }, (_, i) => block.subarray(i * 16_384, (i + 1) * 16_384));
    connection.send(
      head(stream),
      dataFrames(stream, message(EMPTY)),
      frame(Type.headers, Flag.endStream, stream, blocks[0]),
      ...blocks.slice(1).map((part, i) => frame(Type.continuation, i === 2 ? Flag.endHeaders : 0, stream, part)),
    );
  }),
  "trailers without an end of the stream, without an end": flood(
    (stream) => many(frame(Type.headers, Flag.endHeaders, stream, GRPC_OK)),
    (stream) => head(stream),
  ),
  "data after the end": after((connection, stream) => {
    connection.send(head(stream), dataFrames(stream, message(EMPTY)), trailers(stream));
    void connection.flood(() => many(frame(Type.data, Flag.none, stream, EMPTY)));
  }),
  "data before the head": after((connection, stream) => connection.send(dataFrames(stream, message(EMPTY)))),
  "data of a stream that does not exist": after((connection) => connection.send(frame(Type.data, 0, 77, KIB_16))),
  "data of the connection": after((connection) => connection.send(frame(Type.data, 0, 0, KIB_16))),
  "more data than the window": flood(
    (stream) => frame(Type.data, 0, stream, KIB_16),
    (stream) => head(stream),
  ),
  "data that never ends": pour((stream) => frame(Type.data, Flag.none, stream, KIB_16)),
  "one message that never ends": after((connection, stream) => {
    connection.send(head(stream), frame(Type.data, 0, stream, message(EMPTY, 60_000)));
    void connection.pour(stream, () => frame(Type.data, Flag.none, stream, KIB_16));
  }),
  "a message of 4 GiB": after((connection, stream) =>
    connection.send(head(stream), frame(Type.data, 0, stream, message(EMPTY, 0xffffffff))),
  ),
  "messages that never end": pour((stream) => frame(Type.data, 0, stream, many(message(UNKNOWN_FIELD), 100))),
  "empty messages that never end": pour((stream) => frame(Type.data, 0, stream, many(message(EMPTY), 3_000))),
  "data that never ends, byte by byte": after((connection, stream) => {
    connection.send(head(stream), frame(Type.data, 0, stream, message(EMPTY, 60_000)));
    const bytes = frame(Type.data, Flag.none, stream, Buffer.from([7]));
    void connection.pour(stream, () => bytes);
  }),
  "data without content that never ends": flood(
    (stream) => many(frame(Type.data, 0, stream, EMPTY)),
    (stream) => head(stream),
  ),
  "data of nothing but padding that never ends": pour((stream) =>
    frame(Type.data, Flag.padded, stream, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)])),
  ),
  "an answer that drips": after((connection, stream) => {
    connection.send(head(stream), frame(Type.data, 0, stream, message(EMPTY, 1_000)));
    const timer = setInterval(() => connection.send(frame(Type.data, 0, stream, Buffer.from([0]))), 20);
    connection.socket.once("close", () => clearInterval(timer));
  }),
  "an answer without an end": after((connection, stream) =>
    connection.send(head(stream), frame(Type.data, 0, stream, message(EMPTY))),
  ),
  "a window that never opens": {
    onGreeted: (connection) => connection.send(settings([4, 0]), frame(Type.settings, Flag.ack, 0)),
  },
  "no streams allowed": {
    onGreeted: (connection) => connection.send(settings([3, 0]), frame(Type.settings, Flag.ack, 0)),
  },
  "settings that are out of range": {
    onGreeted: (connection) => connection.send(settings([4, 0xffffffff], [5, 1], [2, 7])),
  },
  "the largest settings": {
    onGreeted: (connection) =>
      connection.send(settings([1, 0xffffffff], [3, 0xffffffff], [4, 0x7fffffff], [5, 0xffffff], [6, 0xffffffff])),
  },
  "nothing after the connection": { onGreeted: () => undefined },
  "HTTP/1.1 instead": { onGreeted: (connection) => connection.send(Buffer.from("HTTP/1.1 200 OK\r\n\r\nhello")) },
  "noise instead": { onGreeted: (connection) => void connection.flood(() => KIB_16) },
  "a frame that is too long": after((connection) =>
    connection.send(Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]), KIB_16),
  ),
  "an end in the middle of a frame": after((connection, stream) => {
    connection.send(GREETING, head(stream).subarray(0, 12));
    connection.socket.end();
  }),
};
