import { Agent, request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { SOON_MS } from "#kit/time/soon.ts";
import { FREE_BYTES } from "#webhooks/body.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";
import { serveWebhooks, type WebhookHere, type WebhookServer } from "#webhooks/server.ts";

const HOST = "etcd-cluster-operator-webhooks.operators.svc";
const PATH = "/admission/things";
const MAX_BYTES = 10_000;
const LIMITS = { maxBytes: MAX_BYTES, maxDepth: 20, maxParts: 100, bytesOfPart: 70 };
/** Time to generate keys on a busy machine. */
const MAKING_KEYS_MS = 60_000;

let authority: KeyPair;
let serving: KeyPair;
beforeAll(async () => {
  authority = await newAuthority(Date.now());
  serving = await newServing(authority, HOST, Date.now());
}, MAKING_KEYS_MS);

let answer: WebhookHere["answer"];
let refuse: NonNullable<WebhookHere["refuse"]>;
let server: WebhookServer;
const outcomes: string[] = [];
const logged: string[] = [];
const log: Log = { ...silentLog, error: (fields, message) => void logged.push(`${message} ${JSON.stringify(fields)}`) };

beforeEach(async () => {
  outcomes.length = 0;
  logged.length = 0;
  answer = (body) => Promise.resolve({ heard: body });
  refuse = () => undefined;
  server = await serveWebhooks({
    port: 0,
    webhooks: [
      {
        path: PATH,
        limits: LIMITS,
        refuse: (head, why) => refuse(head, why),
        answer: (body, signal) => answer(body, signal),
      },
    ],
    log,
    observe: (path, outcome) => outcomes.push(`${path} ${outcome}`),
  });
  server.use(serving);
});
afterEach(async () => await server.close());

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly ca?: string;
  /** Agent that keeps connections; without it each request has its own. */
  readonly agent?: Agent;
}

function ask({
  method = "POST",
  path = PATH,
  headers = {},
  body = "{}",
  ca = authority.certificate,
  agent,
}: Asked = {}) {
  return new Promise<{ status: number; text: string; certificate: string; connection: string | undefined }>(
    (resolve, reject) => {
      const request = httpsRequest({
        host: "127.0.0.1",
        port: server.port,
        servername: HOST,
        ca,
        method,
        path,
        agent: agent ?? false,
        headers: { "content-type": "application/json", ...headers },
      });
      request.on("error", reject);
      request.on("response", (response) => {
        const { fingerprint256 } = (response.socket as import("node:tls").TLSSocket).getPeerCertificate();
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        const { statusCode: status = 0, headers } = response;
        response.on("end", () =>
          resolve({ status, text, certificate: fingerprint256, connection: headers.connection }),
        );
      });
      request.end(body);
    },
  );
}

/** A connection after its handshake, for requests that no HTTP client sends. */
function connectedTls(): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { port: server.port, host: "127.0.0.1", servername: HOST, ca: authority.certificate };
    const socket = tlsConnect(options, () => resolve(socket));
    socket.on("error", reject);
  });
}

test("a JSON body gets a JSON response", async () => {
  expect(await ask({ body: '{"a":1}' })).toMatchObject({ status: 200, text: '{"heard":{"a":1}}' });
  const types = ["application/json", "application/json; charset=utf-8", "Application/JSON"];
  for (const type of types) expect((await ask({ headers: { "content-type": type } })).status).toBe(200);
  expect(await ask({ path: `${PATH}?timeout=5s` })).toMatchObject({ status: 200 });
  expect(outcomes).toEqual(Array(5).fill(`${PATH} 200`));
});

test("an idle connection stays open for longer than the API server keeps its connections", async () => {
  const socket = await connectedTls();
  socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  expect(Number(/Keep-Alive: timeout=(\d+)/.exec(answer.toString())?.[1])).toBeGreaterThan(90);
  socket.destroy();
});

test("a connection without a request stays open, and a request on it has a time limit", async () => {
  const socket = await connectedTls();
  const received = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(bytes.toString())));
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve("closed")));
  const late = new Promise<string>((resolve) => setTimeout(resolve, 8_000, "open"));
  expect(await Promise.race([received, closed, late])).toBe("open");
  socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await Promise.race([received, closed])).toContain("200 OK");
  const next = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(bytes.toString())));
  socket.write("GET /healthz HTTP/1.1\r\nHost: "); // from now on the request has a time limit
  expect(await Promise.race([next, closed])).toMatch(/^HTTP\/1.1 408 /);
  await closed;
});

test("a connection that is never used is closed after the keep-alive time", async () => {
  await server.close();
  server = await serveWebhooks({ port: 0, webhooks: [], log, observe: () => undefined, keepAliveMs: 1_000 });
  server.use(serving);
  const socket = await connectedTls();
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
});

test("an incomplete request head and an incomplete TLS handshake are cut off after seconds", async () => {
  const [socket, unshaken] = [await connectedTls(), await connected()];
  const startMs = performance.now();
  const ends = [socket, unshaken].map((each) => new Promise((resolve) => each.once("close", resolve)));
  socket.write(`POST ${PATH} HTTP/1.1\r\n`);
  socket.resume();
  unshaken.write(Buffer.from([0x16, 0x03, 0x01]));
  await Promise.all(ends);
  expect(performance.now() - startMs).toBeLessThan(15_000);
  expect(performance.now() - startMs).toBeGreaterThan(4_000);
});

test("GET on the health path succeeds", async () => {
  expect(await ask({ method: "GET", path: "/healthz", body: "" })).toMatchObject({ status: 200, text: "ok\n" });
});

const refused: readonly (Asked & { name: string; status: number; says: string })[] = [
  { name: "another path", path: "/", status: 404, says: `not found; paths of this server: /healthz ${PATH}` },
  { name: "another method", method: "PUT", status: 405, says: "method PUT is not supported; use POST" },
  {
    name: "another content type",
    headers: { "content-type": "text/plain" },
    status: 415,
    says: 'content-type is "text/plain"; it must be application/json',
  },
  { name: "no content type", headers: { "content-type": "" }, status: 415, says: 'content-type is ""' },
  {
    name: "a content type that only begins like JSON",
    headers: { "content-type": "application/jsonp" },
    status: 415,
    says: "must be",
  },
  { name: "a body that is not JSON", body: '{"a":', status: 400, says: "the body is not JSON: " },
  { name: "an empty body", body: "", status: 400, says: "the body is not JSON: " },
  {
    name: "a body of arbitrary bytes",
    body: Buffer.from([0xff, 0x00, 0xfe]),
    status: 400,
    says: "the body is not JSON: ",
  },
  {
    name: "a body with a content length above the limit",
    body: "x".repeat(MAX_BYTES + 1),
    status: 413,
    says: `the body has ${MAX_BYTES + 1} bytes; it may have ${MAX_BYTES}`,
  },
  {
    name: "a chunked body above the limit",
    headers: { "transfer-encoding": "chunked" },
    body: "x".repeat(3 * MAX_BYTES),
    status: 413,
    says: `the body has more than ${MAX_BYTES} bytes; it may have ${MAX_BYTES}`,
  },
];
for (const { name, status, says, ...asked } of refused) {
  test(`${name} is refused with a message`, async () => {
    const got = await ask(asked);
    expect(got.text).toContain(says);
    expect(got.status).toBe(status);
    expect(await ask()).toMatchObject({ status: 200 }); // and the server continues
  });
}

describe("a body with too many values or nesting levels", () => {
  const body = `{"uid":"1","many":[${"1,".repeat(100)}1]}`;

  test("is not parsed, and is refused with a message", async () => {
    answer = () => Promise.reject(new Error("was asked"));
    expect(await ask({ body })).toMatchObject({
      status: 413,
      text: "the body has more than 100 keys and values; it may have 100\n",
    });
    expect(await ask({ body: "[".repeat(21) })).toMatchObject({
      status: 413,
      text: "the body is nested more than 20 levels deep; it may be nested 20\n",
    });
  });

  test("gets the webhook's own response when the head of the body is enough for one", async () => {
    refuse = (head, why) => ({ head: head.slice(0, 9), why });
    expect(await ask({ body })).toMatchObject({
      status: 200,
      text: '{"head":"{\\"uid\\":\\"1","why":"the body has more than 100 keys and values; it may have 100"}',
    });
    expect(await ask({ body: "x".repeat(MAX_BYTES + 1) })).toMatchObject({ status: 413 });
  });
});

describe("a webhook", () => {
  test("that refuses an invalid request has its message in a 400 response", async () => {
    answer = () => Promise.reject(new OperatorError("InvalidSpec", "kind is Pod; it must be AdmissionReview"));
    expect(await ask()).toMatchObject({ status: 400, text: "kind is Pod; it must be AdmissionReview\n" });
  });

  test("that throws results in a 500 response, and the server continues", async () => {
    answer = () => {
      throw new TypeError("x is not a function");
    };
    expect(await ask()).toMatchObject({
      status: 500,
      text: "the operator failed to answer: TypeError: x is not a function\n",
    });
    expect(logged).toHaveLength(1);
    answer = () => Promise.resolve({});
    expect(await ask()).toMatchObject({ status: 200 });
    expect(outcomes).toEqual([`${PATH} 500`, `${PATH} 200`]);
  });

  test("that returns a value without a JSON form results in a 500 response", async () => {
    const circle: { self?: object } = {};
    circle.self = circle;
    answer = () => Promise.resolve(circle);
    expect(await ask()).toMatchObject({ status: 500 });
  });

  test("that takes too long is cancelled by its signal", async () => {
    let signal: AbortSignal | undefined;
    answer = (_, given) => {
      signal = given;
      return new Promise(() => undefined);
    };
    expect(await ask()).toMatchObject({ status: 503, text: "the operator had no answer within 4500 ms\n" });
    expect(signal?.aborted).toBe(true);
  });

  // The webhook's time ends half a second before the body's. If a busy machine stalls in between, the status is 408.
  test("is not called when the body arrives after the time limit", {
    timeout: 10_000,
    retry: 2,
  }, async () => {
    let calls = 0;
    answer = () => {
      calls += 1;
      return new Promise(() => undefined);
    };
    const socket = await connectedTls();
    const response = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{`);
    await new Promise((resolve) => setTimeout(resolve, 4_700));
    socket.write("}");
    expect((await response).toString()).toMatch(/^HTTP\/1.1 503 .*the operator had no answer within 4500 ms/s);
    expect(calls).toBe(0);
    socket.destroy();
  });
});

test("an incomplete body is cut off after the time limit", async () => {
  const socket = await connectedTls();
  const response = new Promise<Buffer>((resolve) => socket.once("data", resolve));
  const startMs = performance.now();
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{`);
  expect((await response).toString()).toMatch(/^HTTP\/1.1 408 /);
  expect(performance.now() - startMs).toBeLessThan(15_000);
  socket.destroy();
});

/** A connection before its handshake. */
function connected(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });
}

test("a client without TLS is disconnected", async () => {
  const socket = await connected();
  const end = new Promise((resolve) => socket.on("close", resolve).on("error", () => undefined));
  socket.write("POST / HTTP/1.1\r\n\r\n");
  await end;
  expect(await ask()).toMatchObject({ status: 200 });
});

test("bodies in memory have a common limit, and are released after the response", async () => {
  await server.close();
  const large = FREE_BYTES + 20_000;
  const held: (() => void)[] = [];
  answer = () => new Promise((resolve) => held.push(() => resolve({})));
  server = await serveWebhooks({
    port: 0,
    webhooks: [
      { path: PATH, limits: { ...LIMITS, maxBytes: large + 2 }, answer: (body, signal) => answer(body, signal) },
    ],
    log,
    observe: () => undefined,
    maxHeldBytes: 3 * (large - FREE_BYTES), // one address may have half of it
  });
  server.use(serving);
  const body = `"${"x".repeat(large)}"`;
  const first = ask({ body });
  await expect.poll(() => held.length, { timeout: SOON_MS }).toBe(1);
  expect(await ask({ body })).toMatchObject({ status: 503, text: "too many requests are being answered; try again\n" });
  held[0]!();
  expect(await first).toMatchObject({ status: 200 });
  const second = ask({ body });
  await expect.poll(() => held.length, { timeout: SOON_MS }).toBe(2);
  held[1]!();
  expect(await second).toMatchObject({ status: 200 });
});

describe("the serving certificate", () => {
  test("is missing at first, and TLS handshakes fail until it is set", async () => {
    const bare = await serveWebhooks({ port: 0, webhooks: [], log, observe: () => undefined });
    const { port } = server;
    try {
      (server as { port: number }).port = bare.port;
      await expect(ask()).rejects.toThrow(/handshake failure|EPROTO|ECONNRESET/);
      bare.use(serving);
      expect(await ask()).toMatchObject({ status: 404 });
    } finally {
      (server as { port: number }).port = port;
      await bare.close();
    }
  });

  test("is refused by a client that trusts another CA", async () => {
    const other = await newAuthority(Date.now());
    await expect(ask({ ca: other.certificate })).rejects.toThrow(/unable to verify|self-signed/);
  });

  test("is refused by a client when it has expired", async () => {
    const past = Date.now() - 200 * 86_400_000;
    const ended = await newServing(authority, HOST, past);
    server.use(ended);
    await expect(ask()).rejects.toThrow("certificate has expired");
  });

  test("changes for the next connection, and requests in flight are answered", async () => {
    const go = Promise.withResolvers<void>();
    answer = async (body) => {
      await go.promise;
      return { heard: body };
    };
    const underWay = ask();
    await expect.poll(() => outcomes.length === 0).toBe(true);
    const before = await ask({ method: "GET", path: "/healthz", body: "" });
    server.use(await newServing(authority, HOST, Date.now()));
    const after = await ask({ method: "GET", path: "/healthz", body: "" });
    go.resolve();
    expect((await underWay).status).toBe(200);
    expect(after.certificate).not.toBe(before.certificate);
    expect(after.status).toBe(200);
  });
});

describe("a server that is closed", () => {
  test("answers on a kept connection and closes it after the response", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask({ agent })).connection).toBe("keep-alive");
    const closed = server.close();
    expect(await ask({ agent })).toMatchObject({ status: 200, connection: "close" });
    await closed;
    await expect(ask()).rejects.toThrow("ECONNREFUSED");
    agent.destroy();
  });

  test("answers requests in flight for a limited time", async () => {
    const answers: (() => void)[] = [];
    answer = () => new Promise((resolve) => answers.push(() => resolve({})));
    const [slow, stuck] = [ask(), ask()];
    const end = Promise.allSettled([stuck]);
    await expect.poll(() => answers.length, { timeout: SOON_MS }).toBe(2);
    const closed = server.close();
    const isOpen = async () =>
      await connected().then(
        (socket) => socket.destroy() !== undefined,
        () => false,
      );
    answers[0]?.();
    expect(await slow).toMatchObject({ status: 200, connection: "close" });
    await expect.poll(isOpen, { timeout: SOON_MS }).toBe(false);
    await closed;
    expect(await end).toMatchObject([{ value: { status: 503 } }]);
  });

  test("does not wait for an idle connection", async () => {
    const socket = await connected();
    const ended = new Promise((resolve) => socket.on("close", resolve));
    const since = performance.now();
    await Promise.all([server.close(), ended]);
    expect(performance.now() - since).toBeLessThan(8_000);
  });
});

test("a port in use results in an error", async () => {
  await expect(serveWebhooks({ port: server.port, webhooks: [], log, observe: () => undefined })).rejects.toThrow(
    "EADDRINUSE",
  );
});
