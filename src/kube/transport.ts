import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { type Clock, systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import type { KubeConfig } from "./config.ts";
import type { TlsMaterial } from "./credentials.ts";
import { DEFAULT_IN_FLIGHT, InFlight } from "./in-flight.ts";
import { namespaceIn } from "./path.ts";
import { proxyFor } from "./proxy.ts";

/** Connection pool of a request. Requests of different lanes do not wait for each other. */
type Lane = "calls" | "state" | "urgent" | "watch";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query; begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly lane: Lane;
  readonly signal: AbortSignal;
  /** Reads token and certificates again first, because the server refused them. */
  readonly freshCredentials?: boolean;
  /** Called when the request no longer waits for other requests. */
  readonly onTurn?: () => void;
  /**
   * Called on an open connection, right before the first byte is written. It may throw, and `send` then throws the
   * same: a process that was frozen must not send an earlier decision.
   * @param giveUp call it when no answer comes in time: the network path may hang, so later requests use new
   *   connections. Requests under way continue. No effect if these connections are retired already. No effect either if
   *   they have delivered another answer since the request was sent or its own answer began: then the path works.
   */
  readonly onSending?: (giveUp: () => void) => void;
}

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** The whole body; bounded by MAX_BODY_BYTES, watches excepted. */
  text(): Promise<string>;
  chunks(): AsyncIterable<Uint8Array>;
}

/** Error of a request without a complete answer. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** False only when it is certain that not one byte of the request went out. */
  readonly sent: boolean;
  /** Whether the server's certificate or ours was refused: reading the files again may help. */
  readonly tls: boolean;
  /** Whether the answer exceeded MAX_BODY_BYTES. */
  readonly isTooLong: boolean;

  constructor(cause: unknown, sent: boolean) {
    super(cause instanceof Error ? describe(cause) : String(cause), { cause });
    this.sent = sent;
    this.isTooLong = cause instanceof TooLong;
    this.tls = !sent && cause instanceof Error && TLS_CODE.test(codeOf(cause));
  }
}

/** Cause of a TransportError when the answer exceeded MAX_BODY_BYTES. */
export class TooLong extends Error {}

const TLS_CODE = /CERT|SSL|TLS|SIGNATURE|EPROTO/;

/** HTTP as the client needs it; tests pass a scripted one. */
export interface Transport {
  /** @throws TransportError, the signal's reason, or OperatorError without credentials or after `close` */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/**
 * Largest body of an answer. A page of 500 large pods is below 10 MiB. Objects made as large as possible can exceed it:
 * the client then asks for smaller pages.
 */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Connections for calls, opened on demand, one call each. Calls never wait here: in-flight.ts bounds them before. */
const CALL_CONNECTIONS = DEFAULT_IN_FLIGHT.inAll;
/** Connections for leases. Each lease has one call under way, and a process has fewer leases, so none waits. */
const LEASE_CONNECTIONS = 32;
/** Idle time of a connection before the kernel sends TCP keep-alive probes to detect a dead peer. */
const TCP_KEEP_ALIVE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Shorter than the idle timeouts of the API server (90 s) and common load balancers (60 s), so that we close first. */
const IDLE_CONNECTION_MS = 30_000;

// Why HTTP/1.1 and not HTTP/2?
//   With HTTP/2 all calls share one connection. When it hangs, all calls wait until a probe fails; with a pool the next
//   call opens a new connection at once.
// Why several pools?
//   A watch holds its connection for minutes, and a lease renewal must not queue behind fifty slow writes. Nor must the
//   pages of a list that replaces a whole cache, since the cache is stale until then. Such a list has no namespace. In
//   the fair queue it would have one turn among those of three hundred namespaces, page by page.
//   A cache has no watch open while it lists, so watch and list share a pool without more connections.
// Why Node's own client? docs/adr/0006-node-http-client.md

/**
 * HTTP over Node's own client. Credentials come from the configuration with every request.
 * @param env may name a proxy: see proxy.ts
 * @param clock decides which calls are slow
 * @throws OperatorError InvalidConfig when `env` names an invalid proxy
 */
export function httpTransport(
  config: KubeConfig,
  env: Readonly<Record<string, string | undefined>> = process.env,
  clock: Clock = systemClock,
): Transport {
  const server = new URL(config.server);
  const proxy = proxyFor(server, env);
  const inFlight = new InFlight(clock);
  let pools: Pools | undefined;
  let closed = false;
  /** Replaced pools with requests still under way. */
  const retired = new Set<Pools>();

  async function poolsFor(fresh: boolean): Promise<{ pools: Pools; token: string | undefined }> {
    const { tls, token } = await config.credentials(fresh);
    if (closed) throw isClosed();
    if (pools !== undefined && pools.tls !== tls) retire();
    pools ??= newPools(tls);
    return { pools, token };
  }

  function newPools(tls: TlsMaterial): Pools {
    try {
      return new Pools(server, tls, proxy);
    } catch (thrown) {
      throw new TransportError(thrown, false); // Invalid certificates; the next read may return valid ones.
    }
  }

  function retire(): void {
    if (pools === undefined) return;
    const old = pools;
    pools = undefined;
    retired.add(old);
    old.closeWhenIdle(() => retired.delete(old));
  }

  return {
    async send(request) {
      // Wait before choosing the pool: during the wait a pool may be retired.
      const leave =
        request.lane === "calls" ? await inFlight.enter(request.signal, namespaceIn(request.path)) : undefined;
      request.onTurn?.();
      try {
        const { pools: current, token } = await poolsFor(request.freshCredentials === true);
        const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const headers = { ...request.headers, ...authorization };
        let answers = 0;
        const onSending = (): void => {
          answers = current.answers;
          request.onSending?.(() => {
            if (pools === current && current.answers === answers) retire();
          });
        };
        const answer = await current.send({ ...request, headers }, onSending, leave);
        answers = current.answers; // The path may hang between head and end of this body.
        return answer;
      } catch (thrown) {
        leave?.();
        throw thrown;
      }
    },
    close() {
      closed = true;
      inFlight.refuseAll(isClosed());
      retire();
      for (const old of retired) old.destroy();
      return Promise.resolve();
    },
  };
}

function isClosed(): OperatorError {
  return new OperatorError("Cancelled", "the client is closed");
}

/** Connection pools of all lanes, with the same certificates. */
class Pools {
  readonly tls: TlsMaterial;
  /** Number of answers received over these connections. */
  answers = 0;
  readonly #server: URL;
  readonly #agents: Readonly<Record<Lane, http.Agent>>;
  #underWay = 0;
  #onIdle: (() => void) | undefined;

  constructor(server: URL, tls: TlsMaterial, proxy: string | undefined) {
    this.#server = server;
    this.tls = tls;
    const agent = (maxSockets: number) => newAgent(server, tls, maxSockets, proxy);
    const following = agent(Number.POSITIVE_INFINITY);
    this.#agents = {
      calls: agent(CALL_CONNECTIONS),
      urgent: agent(LEASE_CONNECTIONS),
      state: following,
      watch: following,
    };
  }

  /**
   * @param onSending called instead of the request's own
   * @param onFree called once, when the request has released its connection or never got one
   */
  async send(request: HttpRequest, onSending: () => void, onFree: () => void = () => undefined): Promise<HttpAnswer> {
    request.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let sent = false;
    const { protocol, pathname } = this.#server;
    const outgoing = (protocol === "https:" ? https : http).request(this.#server, {
      agent: this.#agents[request.lane],
      method: request.method,
      path: (pathname === "/" ? "" : pathname) + request.path,
      headers: withLength(request),
      signal: request.signal,
    });
    this.#underWay += 1;
    outgoing.once("close", () => {
      this.#ended();
      setImmediate(onFree); // The connection is reusable only after this event: an immediate call would open another.
    });
    outgoing.on("error", reject); // After the head this has no effect: the reader of the body gets the error.
    outgoing.once("response", (answer) => {
      this.answers += 1;
      resolve(answer);
    });
    // Node emits no error when it destroys a request that waits for a connection.
    const giveUp = (): void => reject(request.signal.reason);
    request.signal.addEventListener("abort", giveUp, { once: true });
    outgoing.once("socket", (socket: Socket) =>
      onceConnected(socket, outgoing, () => {
        try {
          onSending();
        } catch (thrown) {
          outgoing.destroy(thrown as Error);
          return;
        }
        sent = true;
        outgoing.end(request.body);
      }),
    );
    try {
      return toAnswer(await promise, request);
    } catch (thrown) {
      if (request.signal.aborted) throw request.signal.reason;
      throw thrown instanceof OperatorError ? thrown : new TransportError(thrown, sent);
    } finally {
      request.signal.removeEventListener("abort", giveUp);
    }
  }

  /** Closes the connections after the last call and watch; watches end at their timeoutSeconds at the latest. */
  closeWhenIdle(onClosed: () => void): void {
    this.#onIdle = () => {
      this.destroy();
      onClosed();
    };
    if (this.#underWay === 0) this.#onIdle();
  }

  /** Closes the connections; calls under way fail. */
  destroy(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #ended(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onIdle?.();
  }
}

function newAgent({ protocol }: URL, tls: TlsMaterial, maxSockets: number, proxy: string | undefined): http.Agent {
  const options = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxSockets,
    timeout: IDLE_CONNECTION_MS, // ends idle connections only: requests have no listener for it
    // NO_PROXY was applied in proxy.ts: Node's own rules do not support ranges such as 10.96.0.0/12.
    ...(proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  if (protocol !== "https:") return new http.Agent(options);
  return new https.Agent({
    ...options,
    rejectUnauthorized: tls.verify,
    // One shared context: otherwise every connection would parse all certificates, and Node would put them into the
    // pool key of every request.
    secureContext: createSecureContext({
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  });
}

/** Adds content-length, which Node omits for the body of a DELETE. */
function withLength({ headers, body }: HttpRequest): Readonly<Record<string, string>> {
  return body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) };
}

/** Calls `run` when the connection is up; at once if it is being reused. */
function onceConnected(socket: Socket & { secureConnecting?: boolean }, request: http.ClientRequest, run: () => void) {
  const isSecure = socket.secureConnecting !== undefined;
  if (!socket.connecting && socket.secureConnecting !== true) return run();
  const giveUp = setTimeout(
    () => request.destroy(new Error(`not connected within ${CONNECT_TIMEOUT_MS} ms`)),
    CONNECT_TIMEOUT_MS,
  );
  request.once("close", () => clearTimeout(giveUp));
  socket.once(isSecure ? "secureConnect" : "connect", () => {
    clearTimeout(giveUp);
    run();
  });
  return undefined;
}

function toAnswer(answer: IncomingMessage, { lane, signal }: HttpRequest): HttpAnswer {
  const maxBytes = lane === "watch" ? Number.POSITIVE_INFINITY : MAX_BODY_BYTES;
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    let bytes = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Uint8Array>) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw new TooLong(`the answer is longer than ${maxBytes} bytes`);
        yield chunk;
      }
    } catch (thrown) {
      throw signal.aborted ? signal.reason : new TransportError(thrown, true);
    }
  }
  return {
    status: answer.statusCode ?? 0,
    header(name) {
      const value = answer.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    async text() {
      const all: Uint8Array[] = [];
      for await (const chunk of chunks()) all.push(chunk);
      return Buffer.concat(all).toString("utf8");
    },
    chunks,
  };
}

/** Message of an error. Failures to connect to several addresses are one AggregateError without a message. */
function describe(error: Error): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map((each: Error) => each.message).join("; ");
  }
  return error.message;
}

function codeOf(error: Error): string {
  return String((error as { code?: unknown }).code ?? "");
}
