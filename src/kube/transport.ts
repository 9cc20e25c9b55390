import { type Dispatcher, Pool } from "undici";
import { OperatorError } from "#base/error.ts";
import type { KubeConfig } from "./config.ts";
import type { TlsMaterial } from "./credentials.ts";

/** Which connections a request may use, so that one sort never waits for another. */
export type Lane = "calls" | "urgent" | "watch";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With query, from the slash on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly lane: Lane;
  readonly signal: AbortSignal;
  /** Read token and certificates again before: the server refused them. */
  readonly freshCredentials?: boolean;
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
  /** The server's certificate or ours was refused: another look at the files may help. */
  readonly tls: boolean;

  constructor(cause: unknown, sent: boolean) {
    super(cause instanceof Error ? describe(cause) : String(cause), { cause });
    this.sent = sent;
    this.tls = !sent && cause instanceof Error && TLS_CODE.test(codeOf(cause));
  }
}

const TLS_CODE = /CERT|SSL|TLS|SIGNATURE|EPROTO/;

/** What the client needs of HTTP; tests bring a scripted one. */
export interface Transport {
  /** @throws TransportError, the signal's reason, or OperatorError when there are no credentials or it is closed */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Uses new connections from now on; requests under way are not disturbed. */
  renewConnections(): void;
  close(): Promise<void>;
}

/** A page of 500 of the largest pods is below 10 MiB; more is not an answer that we asked for. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Connections for calls. Each carries one call at a time; more than this many calls at once is more than the rate limit lets through. */
const CALL_CONNECTIONS = 16;
/** A dead peer is noticed by the kernel after this long without traffic, then by its probes. */
const TCP_KEEP_ALIVE_MS = 15_000;
/** Every call has its own, shorter deadline; this only ends what nobody waits for. */
const HEADERS_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Shorter than the idle timeout of the API server (90 s) and of common load balancers (60 s), so that we close first. */
const IDLE_CONNECTION_MS = 30_000;

// Why HTTP/1.1 and not HTTP/2?
//   With HTTP/2 all calls share one connection. When it freezes all of them wait, and undici notices only after a probe;
//   with a pool the next call opens a new connection at once.
// Why three pools?
//   A watch holds its connection for minutes, and a lease renewal must not queue behind sixteen slow writes.

/** HTTP over undici. Credentials come from the configuration with every request. */
export function httpTransport(config: KubeConfig): Transport {
  const { origin, pathname } = new URL(config.server);
  const prefix = pathname === "/" ? "" : pathname;
  let pools: Pools | undefined;
  let closed = false;
  /** Replaced, but not idle yet. */
  const retired = new Set<Pools>();

  async function poolsFor(fresh: boolean): Promise<{ pools: Pools; token: string | undefined }> {
    const { tls, token } = await config.credentials(fresh);
    if (closed) throw new OperatorError("Cancelled", "the client is closed");
    if (pools !== undefined && pools.tls !== tls) retire();
    pools ??= newPools(origin, tls);
    return { pools, token };
  }

  function retire(): void {
    if (pools === undefined) return;
    const old = pools;
    pools = undefined;
    retired.add(old);
    void endWhenIdle(old).then(() => retired.delete(old));
  }

  return {
    async send(request) {
      const { pools: current, token } = await poolsFor(request.freshCredentials === true);
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const headers = { ...request.headers, ...authorization };
      return await dispatch(current[request.lane], prefix, { ...request, headers });
    },
    renewConnections: retire,
    async close() {
      closed = true;
      retire();
      await Promise.all([...retired].flatMap((old) => LANES.map((lane) => old[lane].destroy())));
    },
  };
}

const LANES: readonly Lane[] = ["calls", "urgent", "watch"];
type Pools = Readonly<Record<Lane, Pool>> & { readonly tls: TlsMaterial };

function newPools(origin: string, tls: TlsMaterial): Pools {
  const pool = (connections: number | null, bodyTimeout: number, maxResponseSize: number): Pool =>
    new Pool(origin, {
      allowH2: false,
      connections,
      pipelining: 1,
      bodyTimeout,
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxResponseSize,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      connect: { ...connectOptions(tls), timeout: CONNECT_TIMEOUT_MS },
    });
  return {
    tls,
    calls: pool(CALL_CONNECTIONS, HEADERS_TIMEOUT_MS, MAX_BODY_BYTES),
    urgent: pool(2, HEADERS_TIMEOUT_MS, MAX_BODY_BYTES),
    watch: pool(null, 0, -1),
  };
}

function connectOptions(tls: TlsMaterial): Record<string, unknown> {
  return {
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    rejectUnauthorized: tls.verify,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
}

/** Lets calls and watches that are under way end by themselves; watches end at their timeoutSeconds at the latest. */
async function endWhenIdle(pools: Pools): Promise<void> {
  await Promise.allSettled(LANES.map((lane) => pools[lane].close()));
}

async function dispatch(pool: Pool, prefix: string, request: HttpRequest): Promise<HttpAnswer> {
  let sent = false;
  const tracked = pool.compose(
    (next) => (options, handler) =>
      next(
        options,
        noteStart(handler, () => (sent = true)),
      ),
  );
  try {
    const answer = await tracked.request({
      path: prefix + request.path,
      method: request.method,
      headers: request.headers,
      body: request.body ?? null,
      signal: request.signal,
    });
    return toAnswer(answer, request.signal);
  } catch (thrown) {
    throw request.signal.aborted ? request.signal.reason : new TransportError(thrown, sent);
  }
}

/** undici calls onRequestStart right before it writes to a connected socket; a failure before it sent nothing. */
function noteStart(handler: Dispatcher.DispatchHandler, started: () => void): Dispatcher.DispatchHandler {
  const onRequestStart: NonNullable<Dispatcher.DispatchHandler["onRequestStart"]> = (controller, context) => {
    started();
    handler.onRequestStart?.(controller, context);
  };
  return new Proxy(handler, {
    get(target, property) {
      if (property === "onRequestStart") return onRequestStart;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function toAnswer(answer: Dispatcher.ResponseData, signal: AbortSignal): HttpAnswer {
  return {
    status: answer.statusCode,
    header(name) {
      const value = answer.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    text: () => translated(answer.body.text(), signal),
    async *chunks() {
      try {
        for await (const chunk of answer.body) yield chunk as Uint8Array;
      } catch (thrown) {
        throw signal.aborted ? signal.reason : new TransportError(thrown, true);
      }
    },
  };
}

async function translated(body: Promise<string>, signal: AbortSignal): Promise<string> {
  try {
    return await body;
  } catch (thrown) {
    throw signal.aborted ? signal.reason : new TransportError(thrown, true);
  }
}

/** undici wraps several addresses' failures into one AggregateError without a message. */
function describe(error: Error): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map((each: Error) => each.message).join("; ");
  }
  return error.message;
}

function codeOf(error: Error): string {
  return String((error as { code?: unknown }).code ?? "");
}
