import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type ClientHttp2Stream,
  createSecureServer,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { test, vi } from "vitest";
import { systemClock } from "#base/clock.ts";
import { newAuthority } from "#kit/etcd/authority.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { SOON_MS } from "#kit/time/soon.ts";
import { TransportPool } from "./transport.ts";

const address = "10.0.0.1:2379";
const tls = { ca: "ca", cert: "cert", key: "key", serverName: "db-0.db" };

test("calls to one address share a connection, also with an equal TLS identity", () => {
  const pool = new TransportPool(new FakeClock());
  assert.equal(pool.servicesOf({ address }), pool.servicesOf({ address }));
  assert.equal(pool.servicesOf({ address, tls }), pool.servicesOf({ address, tls: { ...tls } }));
  assert.equal(pool.size, 1);
});

test.each(["ca", "cert", "key", "serverName"] as const)("another %s opens another connection", (field) => {
  const pool = new TransportPool(new FakeClock());
  const other = { ...tls, [field]: "other" };
  assert.notEqual(pool.servicesOf({ address, tls }), pool.servicesOf({ address, tls: other }));
});

test("TLS identities with the same concatenated fields differ", () => {
  const pool = new TransportPool(new FakeClock());
  const shifted = { ...tls, ca: "c", cert: "acert" };
  assert.notEqual(pool.servicesOf({ address, tls }), pool.servicesOf({ address, tls: shifted }));
});

test("closing an address without a connection does nothing", () => {
  const pool = new TransportPool(new FakeClock());
  pool.close(address);
  assert.equal(pool.size, 0);
});

test("closing an address closes its connection, whatever the TLS identity", () => {
  const pool = new TransportPool(new FakeClock());
  pool.servicesOf({ address, tls });
  pool.servicesOf({ address: "10.0.0.2:2379" });
  pool.close(address);
  assert.equal(pool.size, 1);
  pool.closeAll();
  assert.equal(pool.size, 0);
});

test("connections to members without calls are forgotten after ten to fifteen seconds", async () => {
  const clock = new FakeClock();
  const pool = new TransportPool(clock);
  for (let host = 0; host < 40; host++) pool.servicesOf({ address: `10.0.1.${host}:2379` });
  await clock.advance(10_000);
  const late = pool.servicesOf({ address });
  await clock.advance(4_999);
  assert.equal(pool.size, 41);
  await clock.advance(1);
  assert.equal(pool.size, 1);
  assert.equal(pool.servicesOf({ address }), late);
  await clock.advance(10_000);
  assert.equal(pool.size, 0);
});

function crowd(pool: TransportPool): void {
  for (let host = 0; host < 60; host++) pool.servicesOf({ address: `10.0.1.${host}:2379` });
}

/**
 * @param crowds fill the pool after the first connection was closed, and make another call
 * @returns the connections that the server has after the call, and those after `wait`
 */
async function heldAfter(
  pool: TransportPool,
  wait: "3.5 s" | "closed",
  crowds = false,
): Promise<readonly [number, number]> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.end(Buffer.alloc(5)); // a message without a field
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = () => pool.servicesOf({ address }).maintenance.status({}, { timeoutMs: SOON_MS });
  try {
    await ask();
    if (crowds) {
      for (const session of sessions) session.close();
      await vi.waitFor(() => assert.equal(sessions.size, 0), SOON_MS);
      await setTimeout(100); // until the client has noticed it
      crowd(pool);
      await ask();
    }
    const held = sessions.size;
    if (wait === "3.5 s") await setTimeout(3_500);
    // On a busy machine the server notices late, but still long before a pool with few connections would close it.
    else await vi.waitFor(() => assert.equal(sessions.size, 0), { timeout: 12_000 });
    return [held, sessions.size];
  } finally {
    pool.closeAll();
    server.close();
  }
}

test("an idle connection is closed within seconds when there are many, and stays when there are few", async () => {
  const [few, crowded, filling] = [0, 1, 2].map(() => new TransportPool(systemClock)) as [
    TransportPool,
    TransportPool,
    TransportPool,
  ];
  crowd(crowded);
  const held = await Promise.all([
    heldAfter(few, "3.5 s"),
    heldAfter(crowded, "closed"),
    heldAfter(filling, "closed", true),
  ]);
  assert.deepEqual(held, [
    [1, 1],
    [1, 0],
    [1, 0],
  ]);
});

test("a connection is closed as soon as its member is called with another certificate or CA", () => {
  const pool = new TransportPool(new FakeClock());
  const other = { address: "10.0.0.2:2379", tls };
  const kept = pool.servicesOf(other);
  pool.servicesOf({ address, tls });
  for (const change of [{ cert: "new", key: "new" }, { ca: "ca new" }]) {
    pool.servicesOf({ address, tls: { ...tls, ...change } });
    assert.equal(pool.size, 2);
  }
  pool.servicesOf({ address });
  assert.equal(pool.size, 2);
  assert.equal(pool.servicesOf(other), kept);
});

test("a call with a new certificate closes the connection with the old certificate and opens another", async () => {
  const authority = await newAuthority();
  const { cert, key } = await authority.issue("db-0.db");
  const server = createSecureServer({ cert, key, ca: authority.pem, requestCert: true, rejectUnauthorized: true });
  const sessions = new Set<object>();
  const shown: string[] = [];
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  server.on("stream", (stream) => {
    const socket = stream.session!.socket as TLSSocket;
    shown.push(String(socket.getPeerCertificate().subject.CN));
    stream.respond(
      { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" },
      { endStream: true },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new TransportPool(systemClock);
  try {
    for (const name of ["first", "second"]) {
      const identity = { ca: authority.pem, ...(await authority.issue(name)), serverName: "db-0.db" };
      const call = () => pool.servicesOf({ address, tls: identity }).maintenance.status({}, { timeoutMs: SOON_MS });
      for (let n = 0; n < 2; n++) await assert.rejects(call(), /unimplemented/i);
      await vi.waitFor(() => assert.equal(sessions.size, 1), SOON_MS);
    }
    assert.deepEqual(shown, ["first", "first", "second", "second"]);
  } finally {
    pool.closeAll();
    server.close();
  }
});

/** A server that answers each request after a while, but never those of the first connection. */
async function silentAtFirst(
  afterMs: number,
): Promise<{ address: string; sessions: ServerHttp2Session[]; close(): void }> {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session.on("error", () => undefined)));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    const headers = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" };
    if (stream.session !== sessions[0])
      void setTimeout(afterMs).then(() => stream.closed || stream.respond(headers, { endStream: true }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, sessions, close: () => server.close() };
}

test("a call that times out closes its own connection, and no other", async () => {
  const { address, sessions, close } = await silentAtFirst(300);
  const pool = new TransportPool(systemClock);
  const call = (timeoutMs: number) => pool.servicesOf({ address }).maintenance.status({}, { timeoutMs });
  try {
    // Two calls hang on the first connection, and time out in turn; in between, a third starts on the second
    // connection.
    const [first, second] = [call(100), call(300)].map((each) => each.catch((thrown: unknown) => thrown));
    assert.match(String(await first), /timed out/);
    const third = call(SOON_MS).catch((thrown: unknown) => thrown);
    assert.match(String(await second), /timed out/);
    assert.match(String(await third), /unimplemented/i);
    assert.equal(sessions.length, 2);
    assert.equal(pool.size, 1);
  } finally {
    pool.closeAll();
    close();
  }
});

test("a call that is open at its member's GOAWAY can still finish, even after another call", async () => {
  const server = createServer();
  const open: ServerHttp2Stream[] = [];
  const answer = (stream: ServerHttp2Stream | undefined): void =>
    stream?.respond(
      { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" },
      { endStream: true },
    );
  server.on("stream", (stream) => {
    open.push(stream);
    if (open.length === 1) stream.session?.goaway(0);
    else answer(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new TransportPool(systemClock);
  const call = () => pool.servicesOf({ address }).maintenance.status({}, { timeoutMs: 10_000 });
  try {
    const first = call().catch((thrown: unknown) => thrown);
    await vi.waitFor(() => assert.equal(open.length, 1), SOON_MS);
    await setTimeout(100); // until the client has noticed it
    await assert.rejects(call(), /unimplemented/i);
    assert.equal(open.length, 2);
    answer(open[0]);
    assert.match(String(await first), /unimplemented/i);
  } finally {
    pool.closeAll();
    server.close();
  }
});

test("a cancelled call to a server that accepts TLS connections and sends nothing closes its connection", async () => {
  const held: Socket[] = [];
  const server = createTcpServer((socket) => held.push(socket.on("error", () => undefined).resume()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const authority = await newAuthority();
  const tls = { ca: authority.pem, ...(await authority.issue("me")), serverName: "db-0.db" };
  const pool = new TransportPool(systemClock);
  const stop = new AbortController();
  try {
    const { maintenance } = pool.servicesOf({ address, tls });
    const call = maintenance.status({}, { signal: stop.signal }).catch((thrown: unknown) => thrown);
    await vi.waitFor(() => assert.equal(held.length, 1), SOON_MS);
    stop.abort();
    await call;
    await vi.waitFor(() => assert.equal(pool.size, 0), SOON_MS);
    await vi.waitFor(() => assert.equal(held[0]?.destroyed, true), SOON_MS);
  } finally {
    pool.closeAll();
    for (const each of held) each.destroy();
    server.close();
  }
});

test("closing a connection at its member's GOAWAY causes no unhandled error", async () => {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    const headers = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" };
    stream.respond(headers, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new TransportPool(systemClock);
  // The client's session is only available from a diagnostics channel.
  const used: ClientHttp2Stream["session"][] = [];
  const note = (message: unknown) => used.push((message as { stream: ClientHttp2Stream }).stream.session);
  subscribe("http2.client.stream.start", note);
  try {
    await assert.rejects(pool.servicesOf({ address }).maintenance.status({}, { timeoutMs: SOON_MS }), /unimplemented/i);
    const [session] = used;
    assert(session !== undefined);
    const ended = new Promise((resolve) => session.once("close", resolve));
    // An error without a listener would end the process.
    const observed: unknown[] = [];
    session.once("goaway", () => {
      pool.closeAll();
      observed.push(session.destroyed, session.listenerCount("error") > 0);
    });
    for (const each of sessions) each.goaway(0);
    await ended;
    assert.deepEqual(observed, [true, true]);
  } finally {
    unsubscribe("http2.client.stream.start", note);
    pool.closeAll();
    server.close();
  }
});
