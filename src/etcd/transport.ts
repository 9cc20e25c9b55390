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

// Why one connection per member, and no balancer?
//   Nearly every call is a question to one certain member. A balancer would answer it with any member's word.
// Why are connections to silent members replaced?
//   When a node or the network drops packets, TCP goes on trying on the old connection, with pauses that grow up to two
//   minutes. A new connection works as soon as the member can be reached again.
// Why no pings?
//   Every call has a deadline of seconds, and no connection stays for long that nobody uses.
// Why does a change ask at the last moment whether it may be sent?
//   The process may have been frozen, or have waited for the connection, since it decided.
// What becomes of connections when our certificate, or whom we trust, changes?
//   A connection stays good for as long as it is used, whatever has happened to the certificates by which it was made. The first call with
//   others replaces it, so that nobody is spoken to for days who would not be trusted any more.
// Why are connections closed so soon?
//   Each takes memory here and in etcd, for as long as it stands. Making one anew costs less than half a millisecond of a processor, over TLS
//   two (docs/performance.md, `fleet`), which a cluster at rest takes once in a minute.
// Who writes the state? Only this class: calls ask for services, `close` and the ends of connections take them away.

/** Time after the last call until a connection is closed, in milliseconds. Longer than the pause between two looks at one of a few clusters. */
const IDLE_CONNECTION_MS = 15_000;

/** The same where there are many: clusters at rest are asked so rarely then that nobody would use it again. */
const IDLE_AMONG_MANY_MS = 3_000;

/**
 * So many connections are many: 3 for each of 20 clusters. All of theirs stand at rest, and took 17 MB where those of 60 clusters stood; of
 * more clusters only those stand that are under way.
 */
const MANY = 60;

/** The largest answer that is read. The largest of ours holds one value, and etcd's limit for a request is 1.5 MiB. */
const MAX_ANSWER_BYTES = 16 * 1024 ** 2;

/** The services of one member that we call. */
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

/** Connections to members, one per address, with one TLS identity each, made when first needed and closed when idle. */
export class TransportPool {
  readonly #clock: Clock;
  /** By address. */
  readonly #current = new Map<string, Entry>();
  /** Those that were replaced by newer ones; calls that are open on them may still end. */
  readonly #retired = new Set<Entry>();
  /** The same identity serves many calls, so it is hashed once. */
  readonly #fingerprints = new WeakMap<TlsIdentity, string>();

  readonly #contexts = new TlsContexts();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The services of the member at this endpoint. Connects with the first call, not here.
   * @param onSending called with each call when its connection stands, right before its first byte is written; what it throws ends
   *   the call, as the cause of what the call fails with, and nothing is sent
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
    const transport = unaryTransport({
      open: (headers) => openOn(() => this.#entryOf(endpoint).connection, headers, onSending),
      readMaxBytes: MAX_ANSWER_BYTES,
    });
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

  /** Closes all connections to a member that is gone; calls open on them fail with `EtcdUnavailable`. */
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

  /** How many connections are kept in mind, open or not. */
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

/** Most connections are made for one or two questions. */
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
