import { request } from "node:https";
import { connect, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "#base/log.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { type MetricsServer, serveMetrics } from "#runtime/metrics-server.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";

const servername = "metrics.example";
const READER = "127.0.0.99";
let authority: KeyPair;
let serving: KeyPair;
let server: MetricsServer;
const open: Socket[] = [];

beforeAll(async () => {
  authority = await newAuthority(Date.now());
  serving = await newServing(authority, servername, Date.now());
});
beforeEach(async () => {
  server = await serveMetrics({
    port: 0,
    registry: { metrics: () => Promise.resolve("up 1\n"), contentType: "text/plain" } as never,
    access: { answer: () => Promise.resolve({ status: 200, because: "" }) },
    log: silentLog,
  });
  server.use(serving);
});
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await server.close();
});

const to = (localAddress: string) => ({ host: "127.0.0.1", port: server.port, localAddress });

function read(localAddress: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { ...to(localAddress), servername, ca: authority.certificate, path: "/metrics", agent: false };
    request(options, (response) => response.resume().on("end", () => resolve(response.statusCode)))
      .on("error", reject)
      .end();
  });
}

function closed(socket: Socket): Promise<number> {
  const since = Date.now();
  return new Promise((resolve) => {
    socket.on("error", () => {}).on("close", () => resolve(Date.now() - since));
  });
}

/** Has shaken hands, and says nothing more. */
function silent(localAddress: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({ ...to(localAddress), servername, ca: authority.certificate }, () => resolve(socket));
    socket.resume().on("error", reject);
    open.push(socket);
  });
}

describe("whoever is silent on all connections that they may have", () => {
  test("has eight from one address, and keeps nobody else away", async () => {
    const held = await Promise.all(Array.from({ length: 8 }, () => silent("127.0.0.1")));
    const ninth = connect(to("127.0.0.1"));
    open.push(ninth);
    await closed(ninth);
    expect(held.every(({ destroyed }) => !destroyed)).toBe(true);
    expect(await read(READER)).toBe(200);
    const gone = closed(held[0]!);
    held[0]!.destroy();
    await gone;
    await expect.poll(() => read("127.0.0.1").catch(() => "refused")).toBe(200);
  });

  test("is cut off within seconds, from however many addresses they come", async () => {
    const addresses = Array.from({ length: 64 }, (_, n) => `127.0.0.${1 + (n % 8)}`);
    const all = await Promise.all(addresses.map(silent));
    await expect(read(READER)).rejects.toThrow();
    const took = await Promise.all(all.map(closed));
    expect(Math.max(...took)).toBeLessThan(15_000);
    expect(await read(READER)).toBe(200);
  });
});
