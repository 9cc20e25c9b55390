import { createHash } from "node:crypto";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Clock } from "#base/clock.ts";
import type { Endpoint, TlsIdentity } from "./endpoint.ts";
import { Cluster, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";

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
// Who writes the state? Only this class: calls ask for services, `renew` and `close` take them away.

/** Time after the last call until a connection is closed. Longer than the pause between two passes over one cluster. */
const IDLE_CONNECTION_MS = 60_000;

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
}

interface Connection {
  readonly address: string;
  readonly session: Http2SessionManager;
  readonly services: MemberServices;
  usedAtMs: number;
  hasAnswered: boolean;
}

/** Connections to members, one per address and TLS identity, made when first needed and closed when idle. */
export class TransportPool {
  readonly #clock: Clock;
  /** By address and TLS identity. */
  readonly #current = new Map<string, Connection>();
  /** Replaced by newer ones; their open calls may still end. */
  readonly #retired = new Set<Connection>();
  /** The same identity serves many calls: hash it once. */
  readonly #fingerprints = new WeakMap<TlsIdentity, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The services of the member at this endpoint. Connects with the first call, not here. */
  servicesOf(endpoint: Endpoint): MemberServices {
    const key = this.#keyOf(endpoint);
    const nowMs = this.#clock.monotonicMs();
    let connection = this.#current.get(key);
    if (connection === undefined) {
      this.#forgetUnused(nowMs);
      connection = connectionTo(endpoint, nowMs);
      this.#current.set(key, connection);
    }
    connection.usedAtMs = nowMs;
    return connection.services;
  }

  /** The next call to this endpoint gets a new connection; calls that are open on the old one go on, if it ever answered. */
  renew(endpoint: Endpoint): void {
    const key = this.#keyOf(endpoint);
    const connection = this.#current.get(key);
    if (connection === undefined) return;
    this.#current.delete(key);
    if (connection.session.state() === "open" && connection.hasAnswered) this.#retired.add(connection);
    else connection.session.abort();
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

  /** An idle connection has closed itself long before; what is left is only memory. */
  #forgetUnused(nowMs: number): void {
    this.#drop((connection) => nowMs - connection.usedAtMs > 2 * IDLE_CONNECTION_MS && !isBusy(connection));
  }

  #drop(gone: (connection: Connection) => boolean): void {
    for (const [key, connection] of this.#current) {
      if (!gone(connection)) continue;
      this.#current.delete(key);
      connection.session.abort();
    }
    for (const connection of this.#retired) {
      if (!gone(connection)) continue;
      this.#retired.delete(connection);
      connection.session.abort();
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

function isBusy(connection: Connection): boolean {
  return connection.session.state() === "open";
}

function connectionTo(endpoint: Endpoint, nowMs: number): Connection {
  const { address, tls } = endpoint;
  const baseUrl = `${tls === undefined ? "http" : "https"}://${address}`;
  const session = new Http2SessionManager(
    baseUrl,
    {
      idleConnectionTimeoutMs: IDLE_CONNECTION_MS,
      pingIntervalMs: PING_INTERVAL_MS,
      pingTimeoutMs: PING_TIMEOUT_MS,
      pingIdleConnection: false,
    },
    tls === undefined
      ? undefined
      : { ca: tls.ca, cert: tls.cert, key: tls.key, servername: tls.serverName, minVersion: "TLSv1.2" },
  );
  const interceptors: Interceptor[] = [
    (next) => async (request) => {
      const answer = await next(request);
      connection.hasAnswered = true;
      return answer;
    },
  ];
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager: session,
    readMaxBytes: MAX_ANSWER_BYTES,
    interceptors,
  });
  const connection: Connection = {
    address,
    session,
    services: {
      kv: createClient(KV, transport),
      cluster: createClient(Cluster, transport),
      maintenance: createClient(Maintenance, transport),
    },
    usedAtMs: nowMs,
    hasAnswered: false,
  };
  return connection;
}
