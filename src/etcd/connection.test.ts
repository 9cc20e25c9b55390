import assert from "node:assert/strict";
import { createServer, type Http2Server, type OutgoingHttpHeaders, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import { afterEach, test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { SOON_MS } from "#kit/time/soon.ts";
import { Connection, type ConnectionOptions, openOn, TrafficMeter } from "./connection.ts";

const ASK: OutgoingHttpHeaders = { ":method": "POST", ":path": "/" };

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Http2Server | Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Member {
  readonly origin: string;
  readonly sessions: Set<ServerHttp2Session>;
  /** Paths of the requests, in order. */
  readonly asked: string[];
}

/** A member that answers requests at once, except for `/wait`. */
async function member(): Promise<Member> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  const asked: string[] = [];
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined).on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, { ":path": path }) => {
    asked.push(String(path));
    stream.on("error", () => undefined).resume();
    stream.respond({ ":status": 200 });
    if (path !== "/wait") stream.end();
  });
  return { origin: await listening(server), sessions, asked };
}

function connectionTo(origin: string, options: Partial<ConnectionOptions> = {}): Connection {
  const connection = new Connection({
    origin,
    clock: systemClock,
    standsWithinMs: 10_000,
    idleMs: () => 60_000,
    ...options,
  });
  closing.push(() => connection.abort());
  return connection;
}

/** @returns the HTTP status of a complete answer; undefined without one */
async function ask(opening: ReturnType<typeof openOn>): Promise<unknown> {
  const stream = await opening;
  let status: unknown;
  stream.once("response", (headers) => {
    status = headers[":status"];
  });
  stream.on("error", () => undefined);
  stream.resume().end();
  await new Promise((resolve) => stream.once("close", resolve));
  return status;
}

/** A proxy with sockets that a test can pause, so that the client's bytes are not passed on. */
async function proxyTo(origin: string): Promise<{ origin: string; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    const onward = connect(Number(new URL(origin).port), "127.0.0.1").on("error", () => undefined);
    socket.on("error", () => undefined).on("close", () => onward.destroy());
    socket.pipe(onward).pipe(socket);
    closing.push(() => socket.destroy());
  });
  return { origin: await listening(server), sockets };
}

test("a connection is opened at its first use, serves many calls, and is closed when it was idle for a time", async () => {
  const { origin, sessions, asked } = await member();
  const clock = new FakeClock();
  let gone = 0;
  const connection = connectionTo(origin, {
    clock,
    idleMs: () => 3_000,
    onGone: () => {
      gone += 1;
    },
  });
  assert.equal(sessions.size, 0);
  assert.deepEqual(await Promise.all([ask(connection.open(ASK)), ask(connection.open(ASK))]), [200, 200]);
  assert.deepEqual([sessions.size, asked.length], [1, 2]);
  await clock.advance(2_999);
  assert.deepEqual([connection.isOver, gone], [false, 0]);
  await clock.advance(1);
  assert.deepEqual([connection.isOver, gone], [true, 1]);
  await vi.waitFor(() => assert.equal(sessions.size, 0), SOON_MS);
  connection.abort();
  assert.equal(gone, 1);
});

test("a connection is not idle while a call waits for it or is open", async () => {
  const { origin, sessions } = await member();
  const clock = new FakeClock();
  const connection = connectionTo(origin, { clock, standsWithinMs: 60_000, idleMs: () => 3_000 });
  const opening = connection.open({ ...ASK, ":path": "/wait" });
  await clock.advance(10_000);
  const stream = await opening;
  await clock.advance(10_000);
  assert.equal(connection.isOver, false);
  stream.on("error", () => undefined).close();
  await new Promise((resolve) => stream.once("close", resolve));
  assert.equal(connection.isOver, false);
  await clock.advance(3_000);
  assert.equal(connection.isOver, true);
  await vi.waitFor(() => assert.equal(sessions.size, 0), SOON_MS);
});

test("a call's check runs when the connection is established, and a failed check sends nothing", async () => {
  const { origin, sessions, asked } = await member();
  const clock = new FakeClock();
  const connection = connectionTo(origin, { clock, idleMs: () => 3_000 });
  const stood: number[] = [];
  const forbid = (): void => {
    stood.push(1);
    throw new Error("not you");
  };
  await assert.rejects(connection.open(ASK, forbid), /not you/);
  await vi.waitFor(() => assert.equal(sessions.size, 1), SOON_MS);
  assert.deepEqual([stood, asked], [[1], []]);
  await clock.advance(3_000); // A call that was not sent does not count as a use.
  assert.equal(connection.isOver, true);
});

test("after a member's GOAWAY new calls use another connection, and open calls end normally", async () => {
  const { origin, sessions, asked } = await member();
  const made: Connection[] = [];
  const current = (): Connection => {
    if (made.at(-1)?.isOver !== false) made.push(connectionTo(origin));
    return made.at(-1) as Connection;
  };
  const waiting = await openOn(current, { ...ASK, ":path": "/wait" });
  await new Promise((resolve) => waiting.once("response", resolve));
  for (const session of sessions) session.goaway(0);
  await vi.waitFor(() => assert.equal(made[0]?.isOver, true), SOON_MS);
  assert.equal(await ask(openOn(current, ASK)), 200);
  assert.deepEqual([made.length, asked, waiting.closed], [2, ["/wait", "/"], false]);
  waiting.close();
  await vi.waitFor(() => assert.equal(sessions.size, 1), SOON_MS);
});

test("a call is sent at most three times when the member closes each connection at once", async () => {
  let taken = 0;
  const origin = await listening(
    createTcpServer((socket) => {
      taken += 1;
      socket.on("error", () => undefined).destroy();
    }),
  );
  const made: Connection[] = [];
  const current = (): Connection => {
    if (made.at(-1)?.isOver !== false) made.push(connectionTo(origin));
    return made.at(-1) as Connection;
  };
  // The call may start before or after the client notices the end; it fails either way.
  for (let n = 0; n < 20; n++) {
    assert.equal(await ask(openOn(current, ASK)).catch(() => undefined), undefined);
  }
  assert.ok(made.length <= 60 && taken <= 60, `${made.length} made, ${taken} taken`);
});

test("a call that waits for an aborted connection fails, and does not open another connection", async () => {
  // A server that accepts connections and sends nothing, so that a TLS handshake never completes.
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => void sockets.push(socket.on("error", () => undefined).resume()));
  const origin = (await listening(server)).replace("http:", "https:");
  closing.push(() => sockets[0]?.destroy());
  const connection = connectionTo(origin);
  const calls = [connection.open(ASK), connection.open(ASK)];
  const outcomes = Promise.allSettled(calls);
  await vi.waitFor(() => assert.equal(sockets.length, 1), SOON_MS);
  connection.abort();
  for (const call of await outcomes) {
    assert.ok(call.status === "rejected" && call.reason instanceof ConnectError);
    assert.match(call.reason.message, /unavailable.*given up/);
  }
  await assert.rejects(connection.open(ASK), /given up/);
  await vi.waitFor(() => assert.equal(sockets[0]?.readableEnded || sockets[0]?.destroyed, true), SOON_MS);
  assert.equal(sockets.length, 1);
});

test("open calls of a retired connection may finish, and the last call closes the connection", async () => {
  const { origin, sessions } = await member();
  const connection = connectionTo(origin);
  const stream = await connection.open({ ...ASK, ":path": "/wait" });
  await new Promise((resolve) => stream.once("response", resolve));
  connection.retire();
  await setTimeout(50);
  assert.deepEqual([connection.isOver, stream.closed, sessions.size], [true, false, 1]);
  stream.close();
  await vi.waitFor(() => assert.equal(sessions.size, 0), SOON_MS);
});

test("a connection with an open stream is closed when the member does not answer a ping", async () => {
  const [dead, alive] = [await member(), await member()];
  const cut = await proxyTo(dead.origin);
  const silent = connectionTo(cut.origin, { pings: { everyMs: 60, withinMs: 40 } });
  // A busy machine may take longer than 40 ms for an answer.
  const kept = connectionTo(alive.origin, { pings: { everyMs: 60, withinMs: 2_000 } });
  const [lost, stays] = await Promise.all([silent, kept].map((each) => each.open({ ...ASK, ":path": "/wait" })));
  stays?.on("error", () => undefined);
  let pings = 0;
  for (const session of alive.sessions) session.on("ping", () => pings++);
  const failed = new Promise((resolve) => lost?.once("error", resolve));
  await new Promise((resolve) => lost?.once("response", resolve));
  cut.sockets[0]?.unpipe().pause();
  assert.match(String(await failed), /no answer to a ping within 40 ms/);
  // A second ping is sent only after the first was answered in time.
  await vi.waitFor(() => assert.ok(pings >= 2), SOON_MS);
  assert.deepEqual([silent.isOver, kept.isOver, stays?.closed], [true, false, false]);
});

test("a call fails after the connection timeout when the server accepts connections and sends nothing", async () => {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => void sockets.push(socket.on("error", () => undefined).resume()));
  const origin = (await listening(server)).replace("http:", "https:");
  closing.push(() => sockets[0]?.destroy());
  let gone = 0;
  const onGone = (): void => {
    gone += 1;
  };
  const made: Connection[] = [];
  const current = (): Connection => {
    made.push(connectionTo(origin, { standsWithinMs: 100, onGone }));
    return made.at(-1) as Connection;
  };
  await assert.rejects(openOn(current, ASK), /unavailable.*no connection within 100 ms/);
  assert.deepEqual([made.length, made[0]?.isOver, gone], [1, true, 1]); // it was tried once
  await vi.waitFor(() => assert.equal(sockets[0]?.destroyed, true), SOON_MS);
});

test("the connection timeout does not close an established connection", async () => {
  const { origin } = await member();
  const clock = new FakeClock();
  const connection = connectionTo(origin, { clock, standsWithinMs: 2_000 });
  assert.equal(await ask(connection.open(ASK)), 200);
  await clock.advance(5_000);
  assert.equal(connection.isOver, false);
});

test("a stream that is cancelled without a response closes its connection, unless a later stream had a response", async () => {
  const server = createServer();
  server.on("stream", (stream, { ":path": path }) => {
    stream.on("error", () => undefined).resume();
    if (path === "/answered") stream.respond({ ":status": 200 }, { endStream: true });
  });
  const origin = await listening(server);
  const [silent, alive] = [connectionTo(origin), connectionTo(origin)];
  const closed = async (connection: Connection, meanwhile: () => Promise<unknown>) => {
    const stream = await connection.open({ ...ASK, ":path": "/never" });
    await meanwhile();
    const end = new Promise((resolve) => stream.once("close", resolve));
    stream.close(8);
    await end;
    return connection.isOver;
  };
  assert.equal(await closed(silent, () => Promise.resolve()), true);
  assert.equal(await closed(alive, () => ask(alive.open({ ...ASK, ":path": "/answered" }))), false);
});

test("no ping is sent while no stream is open", async () => {
  const { origin } = await member();
  const cut = await proxyTo(origin);
  const connection = connectionTo(cut.origin, { pings: { everyMs: 30, withinMs: 20 } });
  assert.equal(await ask(connection.open(ASK)), 200);
  cut.sockets[0]?.unpipe().pause();
  await setTimeout(200);
  assert.equal(connection.isOver, false);
});

test("an invalid client certificate fails only its own connection, with the cause", async () => {
  const connection = connectionTo("https://127.0.0.1:1", { settings: () => ({ cert: "none", key: "none" }) });
  await assert.rejects(connection.open(ASK), (thrown) => {
    assert.ok(thrown instanceof ConnectError && thrown.cause instanceof Error, String(thrown));
    return true;
  });
  assert.equal(connection.isOver, true);
});

test("a server cannot push a stream", async () => {
  const server = createServer();
  const pushAllowed: unknown[] = [];
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined).resume();
    pushAllowed.push(stream.pushAllowed);
    stream.respond({ ":status": 200 }, { endStream: true });
  });
  const connection = connectionTo(await listening(server));
  assert.equal(await ask(connection.open(ASK)), 200);
  assert.deepEqual(pushAllowed, [false]);
});

test("bytes that belong to no response are limited, apart from the window and twice the content", () => {
  const kib = 1_024;
  const meter = new TrafficMeter(64 * kib);
  let total = 0;
  const read = (bytes: number, content = 0): number | undefined => {
    total += bytes;
    meter.content(content);
    return meter.read(total);
  };
  // 32 KiB each time, for any length of time.
  for (let n = 0; n < 100; n++) assert.equal(read(32 * kib), undefined);
  // Content of any size, with as much overhead.
  for (let n = 0; n < 100; n++) assert.equal(read(2_000 * kib, 1_000 * kib), undefined);
  // All at once: the rate's share, the unread window, and the rate's share again.
  assert.equal(read(128 * kib), undefined);
  assert.equal(read(32 * kib + 1), 96 * kib + 1);
});

test("the allowance for bytes that belong to no response recovers with time", () => {
  const kib = 1_024;
  const meter = new TrafficMeter(0);
  assert.equal(meter.read(64 * kib), undefined);
  assert.equal(meter.read(64 * kib), undefined);
  assert.equal(meter.read(128 * kib), undefined);
  assert.equal(meter.read(161 * kib), 33 * kib);
});

test("an idle connection is closed when the server floods it", async () => {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined).resume();
    stream.respond({ ":status": 200 }, { endStream: true });
    const session = stream.session as ServerHttp2Session | undefined;
    const flood = (): void => {
      if (session === undefined || session.destroyed) return;
      for (let n = 0; n < 2_000; n++) session.altsvc('h2=":8000"', "http://example.org");
      setImmediate(flood);
    };
    flood();
  });
  const connection = connectionTo(await listening(server));
  assert.equal(await ask(connection.open(ASK)), 200);
  await vi.waitFor(() => assert.equal(connection.isOver, true), SOON_MS);
  await assert.rejects(connection.open(ASK), /bytes that belong to no answer/);
});
