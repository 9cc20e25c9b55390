import { type Client, createClient, type CallOptions as RpcOptions, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { systemClock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { statusOf } from "./answers.ts";
import { ChangeFeed } from "./change-feed.ts";
import { Connection, openOn } from "./connection.ts";
import { TLS_COMMON } from "./endpoint.ts";
import { translateError } from "./error.ts";
import { Auth, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import type { EndpointStatus } from "./types.ts";

// A member from which a snapshot is taken, and which may be anybody's: an etcd that this operator does not run has its own authority, user
// and password. It is apart from the client of grpc-client.ts, which asks many members short questions all day; here is one connection with
// one long answer, and the process ends with it.

/** How to get in. */
export interface SourceAccess {
  /** Scheme and host; without a port: 2379. https: TLS. Example: `https://etcd-0.example:2379` */
  readonly url: string;
  readonly tls?: SourceTLS | undefined;
  readonly login?: SourceLogin | undefined;
  /** Milliseconds between pings while the answer streams. When undefined: 10 s; etcd refuses less than 5 s if it is not told otherwise. */
  readonly pingIntervalMs?: number | undefined;
}

/** All of it PEM text. */
export interface SourceTLS {
  /** Undefined: the system's authorities. */
  readonly ca?: string | undefined;
  /** Our own certificate, if etcd asks for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name that etcd's certificate must carry. Undefined: the host of the URL. */
  readonly serverName?: string | undefined;
}

export interface SourceLogin {
  readonly name: string;
  readonly password: string;
}

/** What two members have in common that hold the same. */
export interface ContentHash {
  readonly hash: number;
  /** Hashes are alike only when this is; -1 when there was no compaction yet. */
  readonly compactRevision: bigint;
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

const DEFAULT_PORT = "2379";
const PING_INTERVAL_MS = 10_000;
/** After it the connection counts as dead, and with it the member, for us. */
const PING_TIMEOUT_MS = 5_000;
/** Milliseconds until a connection stands: it may be far away. */
const STANDS_WITHIN_MS = 10_000;
/** Milliseconds after the last question until the connection is closed; the next one makes another. */
const IDLE_MS = 15_000;

/**
 * What may be on its way to us, in bytes: it bounds memory when the store is slow, and speed when the way is long (400 MB/s at 10 ms). The
 * default of HTTP/2 is 64 KiB, with which a member two milliseconds away sends 32 MB/s.
 */
const WINDOW_BYTES = 4 * 1024 ** 2;

/**
 * A snapshot comes in 32 KiB at a time. A change is a message of its own when it is large: as large as a request may be, 1.5 MiB if etcd is not
 * told otherwise, and more than 10 MiB is more than etcd itself recommends.
 */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;

/** etcd's header for the token (`TokenFieldNameGRPC` in its api/v3rpc/rpctypes). */
const TOKEN_HEADER = "token";
/** Before all keys that anybody has; as the end of a range, behind them. */
const FIRST_KEY = new Uint8Array([0]);
const AUTH_NOT_ENABLED = "etcdserver: authentication is not enabled";

/** Fails, like the client, with OperatorErrors: `EtcdUnavailable`, `EtcdRejected` or `Cancelled`; see source-failure.ts for more. */
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

  /** Connects with the first call. @throws OperatorError InvalidSpec when the URL is none of an etcd */
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

  /** Logs in, if there is a user, and asks. */
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

  /** The revision of the cluster, by a linearizable read: when it is told, this member has applied all that was acknowledged before. */
  async revision({ signal, deadlineMs }: Deadline): Promise<bigint> {
    return await this.#asked("Range", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const { header } = await this.#kv.range({ key: FIRST_KEY, countOnly: true }, options);
      if (header === undefined) throw new OperatorError("EtcdRejected", `Range at ${this.address}: there is no header`);
      return header.revision;
    });
  }

  /** How many keys there are at a revision that this member has applied. */
  async keys(revision: bigint, { signal, deadlineMs }: Deadline): Promise<number> {
    return await this.#asked("Range", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const request = { key: FIRST_KEY, rangeEnd: FIRST_KEY, countOnly: true, serializable: true, revision };
      return Number((await this.#kv.range(request, options)).count);
    });
  }

  /** The hash of everything up to a revision that this member has applied. It reads all of it, and writes nothing meanwhile: half a second for 256 MiB. */
  async hashKV(revision: bigint, { signal, deadlineMs }: Deadline): Promise<ContentHash> {
    return await this.#asked("HashKV", signal, async () => {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const { hash, compactRevision } = await this.#maintenance.hashKV({ revision }, options);
      return { hash, compactRevision };
    });
  }

  /** Whether users and roles are switched on. */
  async authEnabled({ signal, deadlineMs }: Deadline): Promise<boolean> {
    return await this.#asked("AuthStatus", signal, async () => {
      return (await this.#auth.authStatus({}, { ...this.#options(signal), timeoutMs: deadlineMs })).enabled;
    });
  }

  /** The member's database and its checksum, as they come; no more is read than is taken. Ends by itself only when all has come. */
  async *snapshot(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const { blob } of this.#maintenance.snapshot({}, this.#options(signal))) yield blob;
    } catch (thrown) {
      throw this.#translated("Snapshot", signal, thrown);
    }
  }

  /** What happens to its keys, over the same connection and as the same user; `status` has to be asked before. */
  get changes(): ChangeFeed {
    return new ChangeFeed(this.address, this.#transport, (signal) => this.#options(signal));
  }

  /** Ends what is open. */
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
      // As with etcd's own clients, a user is of no use there, and does no harm.
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
  // A URL does not tell a port that is the scheme's default from none.
  if (url.port === "" && !/:\d+\/?$/.test(text)) url.port = DEFAULT_PORT;
  return url;
}

/** A connection to a member, made with its first call. */
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
  const transport = transportOver(url, current);
  const close = (): void => {
    isClosed = true;
    current().abort();
  };
  return { address: url.host, transport, close };
}

function connectionTo(url: URL, { tls, pingIntervalMs = PING_INTERVAL_MS }: SourceAccess): Connection {
  const settings = { settings: { initialWindowSize: WINDOW_BYTES } };
  const { ca, cert, key, serverName } = tls ?? {};
  return new Connection({
    origin: url.origin,
    settings: () =>
      url.protocol === "http:"
        ? settings
        : {
            ...settings,
            ...TLS_COMMON,
            ...(ca === undefined ? {} : { ca }),
            ...(cert === undefined ? {} : { cert }),
            ...(key === undefined ? {} : { key }),
            ...(serverName === undefined ? {} : { servername: serverName }),
          },
    clock: systemClock,
    standsWithinMs: STANDS_WITHIN_MS,
    idleMs: () => IDLE_MS,
    pings: { everyMs: pingIntervalMs, withinMs: Math.min(PING_TIMEOUT_MS, pingIntervalMs) },
  });
}

function transportOver(url: URL, current: () => Connection): Transport {
  return createGrpcTransport({
    baseUrl: url.origin,
    readMaxBytes: MAX_MESSAGE_BYTES,
    sessionManager: {
      authority: url.origin,
      async request(method, path, headers) {
        const stream = await openOn(current, { ...headers, ":method": method, ":path": path });
        // The window of the connection is apart from those of its streams, and cannot be set when it is made.
        stream.session?.setLocalWindowSize(WINDOW_BYTES);
        return stream;
      },
      notifyResponseByteRead: (stream) => current().heard(stream),
    },
  });
}
