import { request } from "node:https";
import type { Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { gunzipSync } from "node:zlib";
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

/** The answer to a client that accepts these encodings. */
function page(acceptEncoding?: string): Promise<{ readonly encoding: string | undefined; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = acceptEncoding === undefined ? {} : { "accept-encoding": acceptEncoding };
    const options = { ...to(READER), servername, ca: authority.certificate, path: "/metrics", agent: false, headers };
    request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ encoding: response.headers["content-encoding"], body: Buffer.concat(chunks) }),
      );
    })
      .on("error", reject)
      .end();
  });
}

test("the page is compressed for a client that accepts gzip, and for no other", async () => {
  for (const accepts of ["gzip", "deflate, gzip;q=0.8", "gzip ; q=1, br"]) {
    const { encoding, body } = await page(accepts);
    expect(encoding).toBe("gzip");
    expect(gunzipSync(body).toString()).toBe("up 1\n");
  }
  for (const accepts of [undefined, "br", "identity", "gzip;q=0", "gzip; q=0.0, br", "br;q=1, gzip;q=0", "x-gzip"])
    expect(await page(accepts)).toEqual({ encoding: undefined, body: Buffer.from("up 1\n") });
});

function closed(socket: Socket): Promise<number> {
  const since = Date.now();
  return new Promise((resolve) => {
    socket.on("error", () => {}).on("close", () => resolve(Date.now() - since));
  });
}

/** Completes the TLS handshake, and sends nothing more. */
function silent(localAddress: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({ ...to(localAddress), servername, ca: authority.certificate }, () => resolve(socket));
    socket.resume().on("error", reject);
    open.push(socket);
  });
}

describe("a client that opens many connections and sends nothing", () => {
  test("has eight connections per address, and a ninth replaces the oldest", async () => {
    const held: TLSSocket[] = [];
    for (let n = 0; n < 8; n++) held.push(await silent("127.0.0.1"));
    const oldest = closed(held[0]!);
    expect(await read("127.0.0.1")).toBe(200);
    await oldest;
    expect(held.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    expect(await read(READER)).toBe(200);
    expect(held.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  });

  test("does not block other clients from any number of addresses, and is disconnected within seconds", async () => {
    const addresses = Array.from({ length: 64 }, (_, n) => `127.0.0.${1 + (n % 8)}`);
    const all = await Promise.all(addresses.map(silent));
    const ends = Promise.all(all.map(closed));
    expect(await read(READER)).toBe(200);
    expect(all.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    expect(Math.max(...(await ends))).toBeLessThan(15_000);
  });
});
