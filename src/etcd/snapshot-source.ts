import { type Client, createClient, type CallOptions as RpcOptions, type Transport } from "@connectrpc/connect";
import { systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { statusOf } from "./answers.ts";
import { ChangeFeed } from "./change-feed.ts";
import { Connection, openOn } from "./connection.ts";
import { TLS_COMMON } from "./endpoint.ts";
import { translateError } from "./error.ts";
import { Auth, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import { grpcTransport } from "./stream-transport.ts";
import type { EndpointStatus } from "./types.ts";

// Client for the member from which a snapshot is taken. The etcd may be run by another party, with its own CA, user and
// password. grpc-client.ts serves the operator: many members, many short calls. This client serves an agent: one
// connection, one long stream, and then the process exits.

/** How to connect and log in. */
export interface SourceAccess {
  /** Scheme, host and optional port (default 2379); `https` means TLS. Example: `https://etcd-0.example:2379` */
  readonly url: string;
  readonly tls?: SourceTLS | undefined;
  readonly login?: SourceLogin | undefined;
  /** Milliseconds between pings while a stream is open; default 10 s. etcd refuses less than 5 s by default. */
  readonly pingIntervalMs?: number | undefined;
}

/** TLS configuration; all values are PEM text, except the server name. */
export interface SourceTLS {
  /** Undefined: trust the system's CAs. */
  readonly ca?: string | undefined;
  /** Client certificate, for an etcd that requires one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name that etcd's certificate must be valid for. Undefined: the host of the URL. */
  readonly serverName?: string | undefined;
}

export interface SourceLogin {
  readonly name: string;
  readonly password: string;
}

/** Hash of a member's keys. Members with the same data have equal hashes. */
export interface ContentHash {
  readonly hash: number;
  /** Hashes are comparable only when this revision is equal. -1 before the first compaction. */
  readonly compactRevision: bigint;
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

const DEFAULT_PORT = "2379";
const PING_INTERVAL_MS = 10_000;
/** Milliseconds without an answer to a ping until the connection counts as dead. */
const PING_TIMEOUT_MS = 5_000;
/** Milliseconds to establish a connection. Generous: the member may be in a distant network. */
const STANDS_WITHIN_MS = 10_000;
/** Milliseconds after the last call until the connection is closed. The next call opens a new connection. */
const IDLE_MS = 15_000;

/**
 * HTTP/2 flow-control window in bytes. If larger, a slow object store costs more memory. If smaller, a distant etcd is
 * slow: 4 MiB allow 400 MB/s at 10 ms, the default of 64 KiB 32 MB/s at 2 ms.
 */
const WINDOW_BYTES = 4 * 1024 ** 2;

/** etcd's header for the token (`TokenFieldNameGRPC` in its api/v3rpc/rpctypes). */
const TOKEN_HEADER = "token";
/** One zero byte, the lowest possible key. As the end of a range, etcd reads it as "no upper limit". */
const FIRST_KEY = new Uint8Array([0]);
const AUTH_NOT_ENABLED = "etcdserver: authentication is not enabled";

/**
 * Client for one member that is backed up. Methods fail with OperatorErrors: `EtcdUnavailable`, `EtcdRejected` or
 * `Cancelled`. `sourceFailureOf` (source-failure.ts) classifies them further.
 */
export class SnapshotSource {
  /** Host and port. */
  readonly address: string;
  readonly #login: SourceLogin | undefined;
  readonly #close: () => void;
  readonly #maintenance: Client<typeof Maintenance>;
  readonly #auth: Client<typeof Auth>;
  readonly #kv: Client<typeof KV>;
  readonly #transport: Transport;
  #token: string | undefined;

  /** Opens no connection: the first call does. @throws OperatorError InvalidSpec when the URL is not valid */
  constructor(access: SourceAccess) {
    const { address, transport, close } = connectTo(access);
    this.address = address;
    this.#login = access.login;
    this.#close = close;
    this.#transport = transport;
    this.#maintenance = createClient(Maintenance, transport);
    this.#auth = createClient(Auth, transport);
    this.#kv = createClient(KV, transport);
  }

  /** Logs in, if a user is configured, and then reads the member's status. The token is used by all later calls. */
  async status({ signal, deadlineMs }: Deadline): Promise<EndpointStatus> {
    const endMs = performance.now() + deadlineMs;
    const left = () => Math.max(1, Math.ceil(endMs - performance.now()));
    if (this.#login !== undefined) await this.#authenticate(this.#login, { signal, deadlineMs: left() });
    return await this.#asked("Status", signal, async () => {
      const answer = await this.#maintenance.status({}, { ...this.#options(signal), timeoutMs: left() });
      const { header } = answer;
      if (header === undefined)
        throw new OperatorError("EtcdRejected", `Status at ${this.address}: there is no header`);
      return statusOf(header, answer);
    });
  }

  /** The cluster's revision, by a linearizable read. This member has then applied all writes acknowledged before. */
  async revision({ signal, deadlineMs }: Deadline): Promise<bigint> {
    return await this.#asked("Range", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const { header } = await this.#kv.range({ key: FIRST_KEY, countOnly: true }, options);
      if (header === undefined) throw new OperatorError("EtcdRejected", `Range at ${this.address}: there is no header`);
      return header.revision;
    });
  }

  /** Number of keys at a revision that this member has applied. */
  async keys(revision: bigint, { signal, deadlineMs }: Deadline): Promise<number> {
    return await this.#asked("Range", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const request = { key: FIRST_KEY, rangeEnd: FIRST_KEY, countOnly: true, serializable: true, revision };
      return Number((await this.#kv.range(request, options)).count);
    });
  }

  /**
   * Hash of all data up to a revision that this member has applied. The member reads its whole database for it, and
   * applies no writes until the hash is done: half a second for 256 MiB.
   */
  async hashKV(revision: bigint, { signal, deadlineMs }: Deadline): Promise<ContentHash> {
    return await this.#asked("HashKV", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const { hash, compactRevision } = await this.#maintenance.hashKV({ revision }, options);
      return { hash, compactRevision };
    });
  }

  /** Whether authentication is enabled in this etcd. */
  async authEnabled({ signal, deadlineMs }: Deadline): Promise<boolean> {
    return await this.#asked("AuthStatus", signal, async () => {
      return (await this.#auth.authStatus({}, { ...this.#options(signal), timeoutMs: deadlineMs })).enabled;
    });
  }

  /**
   * Streams the member's database, followed by its checksum, with backpressure: reads only as fast as the caller
   * consumes. The generator returns only when the snapshot is complete; otherwise it throws.
   */
  async *snapshot(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const { blob } of this.#maintenance.snapshot({}, this.#options(signal))) yield blob;
    } catch (thrown) {
      throw this.#translated("Snapshot", signal, thrown);
    }
  }

  /** Feed of changes to keys, over the same connection and with the same token. Call `status` first: it logs in. */
  get changes(): ChangeFeed {
    return new ChangeFeed(this.address, this.#transport, (signal) => this.#options(signal));
  }

  /** Closes the connection; open calls fail. */
  close(): void {
    this.#close();
  }

  async #authenticate({ name, password }: SourceLogin, { signal, deadlineMs }: Deadline): Promise<void> {
    try {
      const answer = await this.#asked("Authenticate", signal, () =>
        this.#auth.authenticate({ name, password }, { signal, timeoutMs: deadlineMs }),
      );
      this.#token = answer.token;
    } catch (thrown) {
      // etcd's own clients also ignore a configured user while authentication is disabled.
      if (thrown instanceof OperatorError && thrown.message.endsWith(AUTH_NOT_ENABLED)) return;
      throw thrown;
    }
  }

  #options(signal: AbortSignal): RpcOptions {
    return this.#token === undefined ? { signal } : { signal, headers: { [TOKEN_HEADER]: this.#token } };
  }

  async #asked<T>(method: string, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (thrown) {
      throw this.#translated(method, signal, thrown);
    }
  }

  #translated(method: string, signal: AbortSignal, thrown: unknown): OperatorError {
    return translateError({ method, address: this.address, signal }, thrown);
  }
}

function etcdURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.hostname === "") {
    throw new OperatorError(
      "InvalidSpec",
      `the endpoint is ${text}; it must be a URL like https://etcd-0.example:${DEFAULT_PORT}`,
    );
  }
  // `URL` drops a port that is the scheme's default, so the text is checked for an explicit port.
  if (url.port === "" && !/:\d+\/?$/.test(text)) url.port = DEFAULT_PORT;
  return url;
}

/** A transport to one member. The first call opens the connection. */
export function connectTo(access: SourceAccess): {
  readonly address: string;
  readonly transport: Transport;
  close(): void;
} {
  const url = etcdURL(access.url);
  let connection: Connection | undefined;
  let isClosed = false;
  const current = (): Connection => {
    if (connection === undefined || (connection.isOver && !isClosed)) connection = connectionTo(url, access);
    return connection;
  };
  const transport = grpcTransport((headers) => openOn(current, headers));
  const close = (): void => {
    isClosed = true;
    current().abort();
  };
  return { address: url.host, transport, close };
}

function connectionTo(url: URL, { tls, pingIntervalMs = PING_INTERVAL_MS }: SourceAccess): Connection {
  const { ca, cert, key, serverName } = tls ?? {};
  return new Connection({
    origin: url.origin,
    settings: () =>
      url.protocol === "http:"
        ? undefined
        : {
            ...TLS_COMMON,
            ...(ca === undefined ? {} : { ca }),
            ...(cert === undefined ? {} : { cert }),
            ...(key === undefined ? {} : { key }),
            ...(serverName === undefined ? {} : { servername: serverName }),
          },
    clock: systemClock,
    standsWithinMs: STANDS_WITHIN_MS,
    idleMs: () => IDLE_MS,
    windowBytes: WINDOW_BYTES,
    pings: { everyMs: pingIntervalMs, withinMs: Math.min(PING_TIMEOUT_MS, pingIntervalMs) },
  });
}
