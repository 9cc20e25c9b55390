import { createHash } from "node:crypto";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";
import type { Clock } from "#base/clock.ts";
import { type Endpoint, type TlsIdentity, tlsOptions } from "./endpoint.ts";
import { Auth, Cluster, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import { unaryTransport } from "./unary-transport.ts";

// Why one connection per member, and no balancer?
//   Nearly every call is a question to one certain member. A balancer would answer it with any member's word.
// Why are connections to silent members replaced?
//   When a node or the network drops packets, TCP goes on trying on the old connection, with pauses that grow up to two
//   minutes. A new connection works as soon as the member can be reached again.
// Why no pings on idle connections?
//   etcd allows them only while calls are open (PermitWithoutStream is false in server/embed/etcd.go) and closes the
//   connection of a client that pings too often.
// Why is a connection that has never answered torn down at once?
//   etcd listens at its client port long before it takes connections there. Closed in order, such a connection would wait for
//   the other side to close it too, and keep its descriptor as long as nobody takes it.
// Why does a change ask at the last moment whether it may be sent?
//   The process may have been frozen, or have waited for the connection, since it decided; the session pings a connection that was
//   idle, too, and may make another one. The session reads the headers when all of that is done, in the same turn of the event loop
//   in which it sends them: so the question is put into the headers.
// What becomes of connections when our certificate, or whom we trust, changes?
//   A connection stays good for as long as it is used, whatever has happened to the certificates by which it was made. The first call with
//   others replaces it, so that nobody is spoken to for days who would not be trusted any more.
// Why are connections closed so soon?
//   Each takes memory here and in etcd, for as long as it stands. Making one anew costs less than half a millisecond of a processor, over TLS
//   two (docs/performance.md, `fleet`), which a cluster at rest takes once in a minute.
// Who writes the state? Only this class: calls ask for services, `renew` and `close` take them away.

/** Time after the last call until a connection is closed, in milliseconds. Longer than the pause between two looks at one of a few clusters. */
const IDLE_CONNECTION_MS = 15_000;

/** The same where there are many: clusters at rest are asked so rarely then that nobody would use it again. */
const IDLE_AMONG_MANY_MS = 3_000;

/** So many connections are many: 3 for each of 75 clusters, whose turns come every 15 s (cluster/rest.ts). */
const MANY = 225;

/** What has not been used for so long, in milliseconds, has closed itself, and is forgotten with the next connection that is made. */
const FORGOTTEN_AFTER_MS = 2 * IDLE_CONNECTION_MS;

/** Pause between pings while a call is open. etcd refuses less than 5 s (`--grpc-keepalive-min-time`). */
const PING_INTERVAL_MS = 10_000;

/** Time for the answer to a ping; after it the connection counts as dead. */
const PING_TIMEOUT_MS = 5_000;

/** The largest answer that is read. The largest of ours holds one value, and etcd's limit for a request is 1.5 MiB. */
const MAX_ANSWER_BYTES = 16 * 1024 ** 2;

/** The services of one member that we call. */
export interface MemberServices {
  readonly kv: Client<typeof KV>;
  readonly cluster: Client<typeof Cluster>;
  readonly maintenance: Client<typeof Maintenance>;
  readonly auth: Client<typeof Auth>;
}

interface Connection {
  readonly address: string;
  /** Address and TLS identity. */
  readonly key: string;
  readonly session: Http2SessionManager;
  readonly services: MemberServices;
  usedAtMs: number;
  hasAnswered: boolean;
  /** The pool knows nothing of it any more. */
  isGivenUp: boolean;
}

/** Connections to members, one per address, with one TLS identity each, made when first needed and closed when idle. */
export class TransportPool {
  readonly #clock: Clock;
  /** By address; who was used last is the last. */
  readonly #current = new Map<string, Connection>();
  /** Connections that were replaced by newer ones; their open calls may still end. */
  readonly #retired = new Set<Connection>();
  /** The same identity serves many calls, so it is hashed once. */
  readonly #fingerprints = new WeakMap<TlsIdentity, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The services of the member at this endpoint. Connects with the first call, not here.
   * @param onSending called with each call when its connection stands, right before its first byte is written; what it throws ends
   *   the call, as the cause of what the call fails with, and nothing is sent
   */
  servicesOf(endpoint: Endpoint, onSending?: () => void): MemberServices {
    const connection = this.#connectionTo(endpoint);
    return onSending === undefined ? connection.services : servicesOver(connection, onSending);
  }

  #connectionTo(endpoint: Endpoint): Connection {
    const key = this.#keyOf(endpoint);
    const nowMs = this.#clock.monotonicMs();
    let connection = this.#current.get(endpoint.address);
    if (connection?.key !== key || isOver(connection)) {
      this.#forgetUnused(nowMs);
      this.#retire(endpoint.address);
      const idleMs = this.#current.size < MANY ? IDLE_CONNECTION_MS : IDLE_AMONG_MANY_MS;
      connection = connectionTo(endpoint, { key, nowMs, idleMs });
    } else this.#current.delete(endpoint.address);
    this.#current.set(endpoint.address, connection);
    connection.usedAtMs = nowMs;
    return connection;
  }

  /** The next call to this endpoint gets a new connection; calls that are open on the old one go on, if it ever answered. */
  renew(endpoint: Endpoint): void {
    if (this.#current.get(endpoint.address)?.key === this.#keyOf(endpoint)) this.#retire(endpoint.address);
  }

  #retire(address: string): void {
    const connection = this.#current.get(address);
    if (connection === undefined) return;
    this.#current.delete(address);
    if (connection.session.state() === "open" && connection.hasAnswered) this.#retired.add(connection);
    else giveUp(connection);
  }

  /** Closes all connections to a member that is gone; calls open on them fail with `EtcdUnavailable`. */
  close(address: string): void {
    this.#drop((connection) => connection.address === address);
  }

  /** Closes everything. The pool can still be used. */
  closeAll(): void {
    this.#drop(() => true);
  }

  /** How many connections are kept in mind, open or not. */
  get size(): number {
    return this.#current.size + this.#retired.size;
  }

  /** An idle connection has closed itself long before; only memory is left of it. */
  #forgetUnused(nowMs: number): void {
    const isUnused = ({ usedAtMs }: Connection) => nowMs - usedAtMs > FORGOTTEN_AFTER_MS;
    for (const [address, connection] of this.#current) {
      if (!isUnused(connection)) break;
      if (isBusy(connection)) continue;
      this.#current.delete(address);
      giveUp(connection);
    }
    for (const connection of this.#retired) {
      if (!isUnused(connection) || isBusy(connection)) continue;
      this.#retired.delete(connection);
      giveUp(connection);
    }
  }

  #drop(gone: (connection: Connection) => boolean): void {
    for (const [key, connection] of this.#current) {
      if (!gone(connection)) continue;
      this.#current.delete(key);
      giveUp(connection);
    }
    for (const connection of this.#retired) {
      if (!gone(connection)) continue;
      this.#retired.delete(connection);
      giveUp(connection);
    }
  }

  #keyOf(endpoint: Endpoint): string {
    if (endpoint.tls === undefined) return endpoint.address;
    let fingerprint = this.#fingerprints.get(endpoint.tls);
    if (fingerprint === undefined) {
      const { ca, cert, key, serverName } = endpoint.tls;
      fingerprint = createHash("sha256")
        .update(JSON.stringify([ca, cert, key, serverName]))
        .digest("hex");
      this.#fingerprints.set(endpoint.tls, fingerprint);
    }
    return `${endpoint.address} ${fingerprint}`;
  }
}

function giveUp(connection: Connection): void {
  connection.isGivenUp = true;
  connection.session.abort();
}

/** One that was closed is followed by another one: how long that is kept is asked anew. */
function isOver({ session, hasAnswered }: Connection): boolean {
  const state = session.state();
  return hasAnswered && (state === "closed" || state === "error");
}

function isBusy(connection: Connection): boolean {
  return connection.session.state() === "open";
}

function connectionTo(
  endpoint: Endpoint,
  { key, nowMs, idleMs }: { readonly key: string; readonly nowMs: number; readonly idleMs: number },
): Connection {
  const { address, tls } = endpoint;
  const baseUrl = `${tls === undefined ? "http" : "https"}://${address}`;
  const session = new Http2SessionManager(
    baseUrl,
    {
      idleConnectionTimeoutMs: idleMs,
      pingIntervalMs: PING_INTERVAL_MS,
      pingTimeoutMs: PING_TIMEOUT_MS,
      pingIdleConnection: false,
    },
    tls && tlsOptions(tls),
  );
  const connection = { address, key, session, usedAtMs: nowMs, hasAnswered: false, isGivenUp: false };
  return Object.assign(connection, { services: servicesOver(connection) });
}

function servicesOver(connection: Omit<Connection, "services">, onSending?: () => void): MemberServices {
  const sending = (): void => {
    if (connection.isGivenUp) throw new ConnectError("the connection was given up", Code.Unavailable);
    onSending?.();
  };
  const transport = unaryTransport({
    session: outliving(connection, asking(connection.session, sending)),
    readMaxBytes: MAX_ANSWER_BYTES,
    onAnswer: () => {
      connection.hasAnswered = true;
    },
  });
  return new LazyServices(transport);
}

/** Most connections are made for one or two questions. */
class LazyServices implements MemberServices {
  readonly #transport: Transport;
  #kv: Client<typeof KV> | undefined;
  #cluster: Client<typeof Cluster> | undefined;
  #maintenance: Client<typeof Maintenance> | undefined;
  #auth: Client<typeof Auth> | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get kv(): Client<typeof KV> {
    this.#kv ??= createClient(KV, this.#transport);
    return this.#kv;
  }

  get cluster(): Client<typeof Cluster> {
    this.#cluster ??= createClient(Cluster, this.#transport);
    return this.#cluster;
  }

  get maintenance(): Client<typeof Maintenance> {
    this.#maintenance ??= createClient(Maintenance, this.#transport);
    return this.#maintenance;
  }

  get auth(): Client<typeof Auth> {
    this.#auth ??= createClient(Auth, this.#transport);
    return this.#auth;
  }
}

type Session = Pick<Http2SessionManager, "authority" | "request" | "notifyResponseByteRead">;

const heard = new WeakSet<object>();

/**
 * The same session. When a member says goodbye, the library destroys the connection with an error, which is told a moment later; who has given the
 * connection up by then, or needs another one, has taken its listener away, and an error that nobody listens for ends the process.
 * While the library finds out whether a connection is still good, it takes one that was given up for one that is lost, and makes another one, of
 * which the pool knows nothing.
 */
function outliving(connection: Omit<Connection, "services">, session: Session): Session {
  const endAgain = (): void => {
    if (connection.isGivenUp) connection.session.abort();
  };
  return {
    authority: session.authority,
    async request(method, path, headers, options) {
      const stream = await session.request(method, path, headers, options).finally(endAgain);
      const opened = stream.session;
      if (opened !== undefined && !heard.has(opened)) {
        heard.add(opened);
        // By the next turn of the event loop the other one has been begun.
        for (const end of ["error", "close"]) opened.on(end, () => setImmediate(endAgain));
      }
      return stream;
    },
    notifyResponseByteRead: (stream) => session.notifyResponseByteRead(stream),
  };
}

/** The same session, except that it asks before it sends. */
function asking(session: Http2SessionManager, onSending: () => void): Session {
  return {
    authority: session.authority,
    request(method, path, headers, options) {
      const { te } = headers; // Any header would do; a gRPC request always has this one.
      const asks = {
        ...headers,
        get te() {
          onSending();
          return te;
        },
      };
      return session.request(method, path, asks, options);
    },
    notifyResponseByteRead: (stream) => session.notifyResponseByteRead(stream),
  };
}
