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

/** Which connections a request may use, so that one sort never waits for another. */
type Lane = "calls" | "state" | "urgent" | "watch";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With query, from the slash on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly lane: Lane;
  readonly signal: AbortSignal;
  /** Whether token and certificates are to be read again before, because the server refused them. */
  readonly freshCredentials?: boolean;
  /** Called when it waits for no other request any more. */
  readonly onTurn?: () => void;
  /**
   * Asked when the connection stands, right before the first byte is written: a process that was frozen for a while must not send
   * what it decided on before. What it throws is what `send` throws.
   * @param giveUp for who is not answered in time: new connections are used from now on, since the link may be frozen, and with it those
   *   that are idle. Requests under way are not disturbed. It does nothing when these connections are no longer used anyway, or something
   *   else was answered over them since the request was sent, or since its own answer began: then the link is well.
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

/** No answer. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** False only when it is certain that not one byte of the request went out. */
  readonly sent: boolean;
  /** Whether the server's certificate or ours was refused: reading the files again may help then. */
  readonly tls: boolean;
  /** Whether there was an answer, longer than one may be. */
  readonly isTooLong: boolean;

  constructor(cause: unknown, sent: boolean) {
    super(cause instanceof Error ? describe(cause) : String(cause), { cause });
    this.sent = sent;
    this.isTooLong = cause instanceof TooLong;
    this.tls = !sent && cause instanceof Error && TLS_CODE.test(codeOf(cause));
  }
}

/** Why there is no answer: it was longer than one may be. */
export class TooLong extends Error {}

const TLS_CODE = /CERT|SSL|TLS|SIGNATURE|EPROTO/;

/** What the client needs of HTTP; tests bring a scripted one. */
export interface Transport {
  /** @throws TransportError, the signal's reason, or OperatorError when there are no credentials or it is closed */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** A page of 500 of the largest pods that people make is below 10 MiB, one of 500 that somebody makes as large as he can is not: then fewer are asked for. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Connections for calls, made when needed. Each carries one call at a time. No call waits for one: how many there are, and who waits for whom, is told in in-flight.ts. */
const CALL_CONNECTIONS = DEFAULT_IN_FLIGHT.inAll;
/** The same for leases, each of which has one call under way: more than a process has of them, so that none waits while others hang. */
const LEASE_CONNECTIONS = 32;
/** A dead peer is noticed by the kernel after this long without traffic, then by its probes. */
const TCP_KEEP_ALIVE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** It is shorter than the idle timeout of the API server (90 s) and of common load balancers (60 s), so that we close first. */
const IDLE_CONNECTION_MS = 30_000;

// Why HTTP/1.1 and not HTTP/2?
//   With HTTP/2 all calls share one connection. When it freezes all of them wait, and that is noticed only after a probe;
//   with a pool the next call opens a new connection at once.
// Why several pools?
//   A watch holds its connection for minutes, and a lease renewal must not queue behind fifty slow writes. Nor must the pages of a state
//   that has to be read again: until then all of a kind is seen as it was. They lie in no namespace, so they would share one turn, page by
//   page, with three hundred namespaces that have one each. Who reads one has no watch meanwhile, so the two need no more connections.
// Why Node's own client? docs/adr/0006-node-http-client.md

/**
 * HTTP over Node's own client. Credentials come from the configuration with every request.
 * @param env names a proxy: see proxy.ts
 * @param clock by which it is told which calls take long
 * @throws OperatorError InvalidConfig when it names what is none
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
  /** Replaced, but not idle yet. */
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
      throw new TransportError(thrown, false); // These certificates are of no use; others may be.
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
      // First of all: whoever has waited is not to use connections that were given up meanwhile.
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
        answers = current.answers; // The link may freeze between its own head and the end of its body.
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

/** Connections that were made with the same certificates. */
class Pools {
  readonly tls: TlsMaterial;
  /** How many requests were answered over them. */
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
   * @param onSending called in place of the request's own
   * @param onFree called once, when the request needs its connection no more, or never got one
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
      setImmediate(onFree); // Only then is the connection among those that can be used again: a call that began at once would make another.
    });
    outgoing.on("error", reject); // It may come after the answer has begun, too: its reader hears of it by itself.
    outgoing.once("response", (answer) => {
      this.answers += 1;
      resolve(answer);
    });
    // Node destroys what waits for a connection without a word.
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

  /** Lets calls and watches that are under way end by themselves; watches end at their timeoutSeconds at the latest. */
  closeWhenIdle(onClosed: () => void): void {
    this.#onIdle = () => {
      this.destroy();
      onClosed();
    };
    if (this.#underWay === 0) this.#onIdle();
  }

  /** Calls under way fail. */
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
    // Exceptions were made before: Node's own rules know no ranges such as 10.96.0.0/12.
    ...(proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  if (protocol !== "https:") return new http.Agent(options);
  return new https.Agent({
    ...options,
    rejectUnauthorized: tls.verify,
    // Read once: else each connection would read all certificates anew, and each request would write them into the name of its connection.
    secureContext: createSecureContext({
      ...(tls.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert }),
      ...(tls.key === undefined ? {} : { key: tls.key }),
    }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  });
}

/** Node leaves the length of a DELETE's body out. */
function withLength({ headers, body }: HttpRequest): Readonly<Record<string, string>> {
  return body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) };
}

/** Calls `run` when bytes can be written, at once on a connection that was used before. */
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

/** Several addresses' failures come as one AggregateError without a message. */
function describe(error: Error): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map((each: Error) => each.message).join("; ");
  }
  return error.message;
}

function codeOf(error: Error): string {
  return String((error as { code?: unknown }).code ?? "");
}
