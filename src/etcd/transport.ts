import { createHash } from "node:crypto";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import type { Clock } from "#base/clock.ts";
import { DEFAULT_DEADLINE_MS } from "./call-options.ts";
import { Connection, openOn } from "./connection.ts";
import type { Endpoint, TlsIdentity } from "./endpoint.ts";
import { Auth, Cluster, KV, Maintenance } from "./proto/etcdserverpb/rpc_pb.js";
import { TlsContexts } from "./tls-contexts.ts";
import { unaryTransport } from "./unary-transport.ts";

// Why one connection per member, and no load balancer?
//   Nearly every call is for one specific member. A load balancer would let any member answer.
// Why are connections to silent members replaced?
//   When a node or the network drops packets, TCP retransmits with backoff of up to two minutes.
//   A new connection works as soon as the member is reachable again.
// Why no pings?
//   Every call has a deadline of seconds, and unused connections are closed soon.
// Why does a change check at the last moment whether it may be sent?
//   The process may have been frozen, or have waited for the connection, since it decided to make the change.
// What happens to connections when our client certificate or the trusted CAs change?
//   The first call with the new TLS identity replaces the connection. An established connection is never verified a
//   second time: without replacement, a member that is no longer trusted could be used for days.
// Why are connections closed so soon?
//   Each takes memory here and in etcd. A new one costs less than 0.5 ms of CPU, with TLS 2 ms (docs/performance.md,
//   `fleet`). A cluster at rest needs one once a minute.
// What writes the state? Only this class: calls add entries; `close` and the end of a connection remove them.

/**
 * Milliseconds after the last call until a connection is closed, with few clusters. Longer than the interval between
 * two checks of a cluster, so that its connections are reused.
 */
const IDLE_CONNECTION_MS = 15_000;

/**
 * Milliseconds after the last call, with many clusters: checks are then so rare that an idle connection is not reused.
 */
const IDLE_AMONG_MANY_MS = 3_000;

/**
 * Number of connections from which IDLE_AMONG_MANY_MS applies: 20 clusters with 3 members each. Larger: more memory for
 * idle connections, 17 MB for those of 60 clusters. Smaller: more reconnects.
 */
const MANY = 60;

/** Clients for the gRPC services of one member. */
export interface MemberServices {
  readonly kv: Client<typeof KV>;
  readonly cluster: Client<typeof Cluster>;
  readonly maintenance: Client<typeof Maintenance>;
  readonly auth: Client<typeof Auth>;
}

interface Entry {
  readonly address: string;
  /** Address and TLS identity. */
  readonly key: string;
  readonly connection: Connection;
  readonly services: MemberServices;
}

/**
 * Pool with one connection per member address. A connection has one TLS identity, opens on demand and closes when idle.
 */
export class TransportPool {
  readonly #clock: Clock;
  /** Address → current entry. */
  readonly #current = new Map<string, Entry>();
  /** Replaced connections with open calls. */
  readonly #retired = new Set<Entry>();
  /** Hash of each TLS identity, computed once: an identity is used for many calls. */
  readonly #fingerprints = new WeakMap<TlsIdentity, string>();

  readonly #contexts = new TlsContexts();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Clients for the member at this endpoint. Opens no connection: the first call does.
   * @param onSending called for each call once connected, right before its first byte is written. If it throws, nothing
   *   is sent, and the call fails with the thrown error as cause.
   */
  servicesOf(endpoint: Endpoint, onSending?: () => void): MemberServices {
    return onSending === undefined ? this.#entryOf(endpoint).services : this.#servicesOf(endpoint, onSending);
  }

  #entryOf(endpoint: Endpoint): Entry {
    const { address } = endpoint;
    const key = this.#keyOf(endpoint);
    const current = this.#current.get(address);
    if (current?.key === key && !current.connection.isOver) return current;
    this.#retire(address);
    const services = current?.key === key ? current.services : this.#servicesOf(endpoint);
    const connection = this.#connectionTo(endpoint, () => this.#forget(entry));
    const entry = { address, key, connection, services };
    this.#current.set(address, entry);
    return entry;
  }

  #connectionTo({ address, tls }: Endpoint, onGone: () => void): Connection {
    return new Connection({
      origin: `${tls === undefined ? "http" : "https"}://${address}`,
      settings: () => tls && { secureContext: this.#contexts.of(tls), servername: tls.serverName },
      clock: this.#clock,
      standsWithinMs: DEFAULT_DEADLINE_MS,
      idleMs: () => (this.#current.size < MANY ? IDLE_CONNECTION_MS : IDLE_AMONG_MANY_MS),
      onGone,
    });
  }

  #servicesOf(endpoint: Endpoint, onSending?: () => void): MemberServices {
    const transport = unaryTransport((headers) => openOn(() => this.#entryOf(endpoint).connection, headers, onSending));
    return new LazyServices(transport);
  }

  #retire(address: string): void {
    const entry = this.#current.get(address);
    if (entry === undefined) return;
    this.#current.delete(address);
    this.#retired.add(entry);
    entry.connection.retire();
  }

  #forget(entry: Entry): void {
    if (this.#current.get(entry.address) === entry) this.#current.delete(entry.address);
    this.#retired.delete(entry);
  }

  /** Closes all connections to the address of a deleted member; open calls fail with `EtcdUnavailable`. */
  close(address: string): void {
    this.#abort((entry) => entry.address === address);
  }

  /** Closes everything. The pool can still be used. */
  closeAll(): void {
    this.#abort(() => true);
  }

  #abort(isGone: (entry: Entry) => boolean): void {
    for (const entry of [...this.#current.values(), ...this.#retired]) if (isGone(entry)) entry.connection.abort();
  }

  /** Number of entries, current and replaced, including those that have not connected yet. */
  get size(): number {
    return this.#current.size + this.#retired.size;
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

/** Creates a service client on first use: most connections serve calls of only one or two services. */
class LazyServices implements MemberServices {
  readonly #transport: Transport;
  readonly #made = new Map<DescService, Client<DescService>>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get kv(): Client<typeof KV> {
    return this.#clientOf(KV);
  }

  get cluster(): Client<typeof Cluster> {
    return this.#clientOf(Cluster);
  }

  get maintenance(): Client<typeof Maintenance> {
    return this.#clientOf(Maintenance);
  }

  get auth(): Client<typeof Auth> {
    return this.#clientOf(Auth);
  }

  #clientOf<S extends DescService>(service: S): Client<S> {
    const made = this.#made.get(service) ?? createClient(service, this.#transport);
    this.#made.set(service, made);
    return made as Client<S>;
  }
}
