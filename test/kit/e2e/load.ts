import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "#base/clock.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import { type FoundKey, faultsIn, miscountsIn, type Operation } from "#kit/etcd/history.ts";
import { type Login, PasswordClient } from "./password-client.ts";
import { inPlaintext, type Reach } from "./reach.ts";

// What is the load? Writers and readers without pause. Each has its own connection to the DNS name of the client
// Service, as the documentation recommends. kube-proxy leads each connection to some ready member. When the connection
// breaks, the next one leads to another member.
//
// When does a client retry by itself? Like etcd's own client (client/v3/retry_interceptor.go): a read always, a write
// only when it certainly was not sent. A write that was cut off is not repeated. It counts as failed for the user, and
// as unknown for the history.
//
// How long does a client keep its connection? As long as it works, even after its certificate has changed: a
// certificate is needed only for the handshake. With `reconnects` every second client connects for each request.
//
// What do clients with `again: "once"` do? As many applications do, they repeat each failed request once, and the
// second try may take longer than an election. For the history the second try of a write is a separate write with
// another value. Only a request that fails twice counts as failed for the user.

/**
 * Deadline of one request with all its tries, in milliseconds: more than an election, which takes one to two seconds.
 */
const REQUEST_MS = 5_000;
/**
 * Deadline of one request of clients with a password. Each login costs etcd a tenth of a second, and all clients may
 * log in at once.
 */
const LOGIN_MS = 15_000;
/**
 * Deadline of one try, in milliseconds: after a try on a connection to a silent member, the next one needs the rest of
 * the time.
 */
const TRY_MS = 2_000;
/** Delay before a read is repeated, in milliseconds. */
const AGAIN_MS = 20;

const WRITERS = 4;
const READERS = 4;
/** Number of clients: each has one request in flight. */
export const CLIENTS = WRITERS + READERS;
const KEYS = 5;
/** Pause of each client between two requests, in milliseconds, by default. */
const EVERY_MS = 30;

/** What clients noticed during some time. */
export interface Felt {
  /** Failed requests, reads and writes. */
  readonly failedRequests: number;
  /** The longest time without any acknowledged write, in milliseconds. */
  readonly longestPauseMs: number;
  /** Start of that pause by this machine's clock, to find it in the logs. */
  readonly pausedAt: Date;
  readonly acknowledgedWrites: number;
  readonly answeredReads: number;
  /** Errors of the failed requests. */
  readonly why: readonly string[];
  /** Errors of all failed first tries, including those of requests that succeeded later. */
  readonly firstWhy: readonly string[];
}

/** When clients retry: like etcd's own client, or every request once. */
export type Again = "as etcd" | "once";

export interface LoadOptions {
  readonly again?: Again;
  /** Pause of each client between two requests, in milliseconds. */
  readonly everyMs?: number;
  /** Whether every second client connects for each request. */
  readonly reconnects?: boolean;
  /** How clients connect at first; in plaintext by default. */
  readonly reach?: Reach;
  /** Name and password of the clients; by default their certificate identifies them. */
  readonly login?: Login;
  /** Prefix of the clients' keys. */
  readonly prefix?: string;
}

/** The state of one client. */
interface Connected {
  readonly etcd: Pick<EtcdClient, "put" | "get">;
  /** `size`: number of connections, if known. */
  readonly pool: { closeAll(): void; readonly size?: number };
  readonly isKept: boolean;
  /** How it connected last. */
  reach: Reach;
  endpoint: Endpoint;
}

/** A load that runs until it is stopped, and records every request. */
export class Load implements AsyncDisposable {
  readonly #again: Again;
  readonly #everyMs: number;
  readonly #reconnects: boolean;
  readonly #login: Login | undefined;
  #reach: Reach;
  readonly #keys: readonly string[];
  readonly #history: Operation[] = [];
  readonly #clients: readonly Promise<void>[];
  readonly #stopped = new AbortController();
  #lastValue = 0;

  constructor(
    namespace: string,
    cluster: string,
    {
      again = "as etcd",
      everyMs = EVERY_MS,
      reconnects = false,
      reach = inPlaintext({ namespace, name: cluster }),
      login,
      prefix = "",
    }: LoadOptions = {},
  ) {
    this.#again = again;
    this.#everyMs = everyMs;
    this.#reconnects = reconnects;
    this.#login = login;
    this.#reach = reach;
    // Unique keys: an earlier load may have run on the same cluster.
    const own = prefix + Math.random().toString(36).slice(2, 8);
    this.#keys = Array.from({ length: KEYS }, (_, n) => `${own}/${n}`);
    this.#clients = [...Array<"write">(WRITERS).fill("write"), ...Array<"read">(READERS).fill("read")].map((what, n) =>
      this.#client(what, n),
    );
  }

  /** Lets all clients connect in another way, from their next request on. */
  turnTo(reach: Reach): void {
    this.#reach = reach;
  }

  /** Milliseconds of the history's clock: for `felt`. */
  now(): number {
    return performance.now();
  }

  felt(sinceMs: number, untilMs = this.now()): Felt {
    const ended = this.#history.filter(
      ({ outcome, endMs }) => outcome !== "open" && endMs !== undefined && endMs >= sinceMs && endMs <= untilMs,
    );
    const good = ended.filter(({ outcome }) => outcome === "ok");
    const bad = ended.filter(({ outcome, isTriedAgain }) => outcome !== "ok" && isTriedAgain !== true);
    const writes = good.filter(({ do: what }) => what === "write");
    const ends = [sinceMs, ...writes.map(({ endMs }) => endMs ?? 0).sort((a, b) => a - b), untilMs];
    const pauses = ends.slice(1).map((endMs, index) => endMs - ends[index]!);
    const longestPauseMs = Math.max(...pauses);
    return {
      failedRequests: bad.length,
      longestPauseMs: Math.round(longestPauseMs),
      pausedAt: new Date(performance.timeOrigin + ends[pauses.indexOf(longestPauseMs)]!),
      acknowledgedWrites: writes.length,
      answeredReads: good.length - writes.length,
      why: bad.map(({ do: what, outcome, why }) => `${what} ${outcome}: ${why ?? ""}`),
      firstWhy: ended.flatMap(({ firstWhy }) => firstWhy ?? []),
    };
  }

  /** Faults in what clients have seen so far; none is expected. */
  faults(): readonly string[] {
    return faultsIn(this.#history);
  }

  /** Waits until a write that starts now is acknowledged: the cluster serves again. */
  async untilServed(deadlineMs = 60_000): Promise<void> {
    const sinceMs = this.now();
    const isServed = ({ do: what, outcome, startMs }: Operation) =>
      what === "write" && outcome === "ok" && startMs >= sinceMs;
    while (!this.#history.slice(-100).some(isServed)) {
      if (this.now() - sinceMs > deadlineMs) throw new Error(`no write was acknowledged for ${deadlineMs / 1000} s`);
      await sleep(AGAIN_MS);
    }
  }

  /**
   * Ends the load, and reads every key once more.
   * @returns faults in what clients have seen; none is expected
   */
  async end(): Promise<readonly string[]> {
    this.#stopped.abort();
    await Promise.all(this.#clients);
    const connected = this.#connected(true);
    const found = new Map<string, FoundKey>();
    for (const key of this.#keys) found.set(key, await this.#lastLook(connected, key));
    connected.pool.closeAll();
    return [...faultsIn(this.#history), ...miscountsIn(this.#history, found)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#clients);
  }

  /** Retried like every read: right after a change a new connection may still lead to a removed member. */
  async #lastLook(connected: Connected, key: string): Promise<FoundKey> {
    const read = this.#begin("read", key, undefined);
    const version = await this.#request(connected, read);
    if (read.outcome !== "ok") throw new Error(`the last read of key ${key} failed: ${read.why}`);
    return { value: read.value, version: version ?? 0 };
  }

  async #client(what: Operation["do"], n: number): Promise<void> {
    const connected = this.#connected(!this.#reconnects || n % 2 === 0);
    for (let round = n; !this.#stopped.signal.aborted; round++) {
      const key = this.#keys[round % this.#keys.length]!;
      const first = this.#begin(what, key, this.#newValue(what));
      await this.#request(connected, first);
      if (first.outcome !== "ok" && this.#again === "once") {
        first.isTriedAgain = true;
        await sleep(AGAIN_MS);
        await this.#request(connected, this.#begin(what, key, this.#newValue(what)), REQUEST_MS);
      }
      await sleep(this.#everyMs);
    }
    connected.pool.closeAll();
  }

  #connected(isKept: boolean): Connected {
    const others = { isKept, reach: this.#reach, endpoint: this.#reach.endpoint() };
    if (this.#login !== undefined) {
      const etcd = new PasswordClient(this.#login);
      return { etcd, pool: etcd, ...others };
    }
    const pool = new TransportPool(systemClock);
    return { etcd: new GrpcClient({ pool, clock: systemClock }), pool, ...others };
  }

  #newValue(what: Operation["do"]): string | undefined {
    return what === "write" ? `${++this.#lastValue}` : undefined;
  }

  #begin(what: Operation["do"], key: string, value: string | undefined): Operation {
    const operation: Operation = {
      do: what,
      key,
      value,
      startMs: this.now(),
      endMs: undefined,
      outcome: "open",
    };
    this.#history.push(operation);
    return operation;
  }

  /**
   * One request with all the tries of etcd's own client, or with one; ends the operation.
   * @returns for a read: how often the key was written
   */
  async #request(
    connected: Connected,
    operation: Operation,
    tryMs = this.#login === undefined ? TRY_MS : LOGIN_MS,
  ): Promise<number | undefined> {
    const lastMs = operation.startMs + (this.#login === undefined ? REQUEST_MS : LOGIN_MS);
    let version: number | undefined;
    for (;;) {
      try {
        version = await this.#try(connected, operation, Math.min(tryMs, lastMs - this.now()));
        operation.outcome = "ok";
        break;
      } catch (thrown) {
        const why = thrown instanceof Error ? thrown.message : String(thrown);
        operation.firstWhy ??= why;
        const isWithoutEffect = operation.do === "read" || wasNotSent(thrown);
        const isLate = this.now() + AGAIN_MS >= lastMs;
        if (isWithoutEffect && !isLate && this.#again === "as etcd") {
          await sleep(AGAIN_MS);
          continue;
        }
        operation.outcome = isWithoutEffect ? "failed" : "unknown";
        operation.why = why;
        break;
      }
    }
    operation.endMs = this.now();
    return version;
  }

  async #try(connected: Connected, operation: Operation, deadlineMs: number): Promise<number | undefined> {
    const { etcd, pool, isKept } = connected;
    // A connection that has ended cleanly is replaced for this request, too.
    if (connected.reach !== this.#reach || !isKept || pool.size === 0) lookAnew(connected, this.#reach);
    const options = { signal: NEVER, deadlineMs };
    try {
      if (operation.do === "write") {
        await etcd.put(connected.endpoint, operation.key, operation.value ?? "", options);
        return undefined;
      }
      const found = await etcd.get(connected.endpoint, operation.key, options);
      operation.value = found === undefined ? undefined : new TextDecoder().decode(found.value);
      return found?.version;
    } catch (thrown) {
      lookAnew(connected, this.#reach);
      throw thrown;
    } finally {
      if (!isKept) pool.closeAll();
    }
  }
}

/** A new connection uses the current files. */
function lookAnew(connected: Connected, reach: Reach): void {
  connected.reach = reach;
  connected.endpoint = reach.endpoint();
}

/** Every request has its own deadline. */
const NEVER = new AbortController().signal;

/** Errors without any connection on which the request could have been sent. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN"]);

function wasNotSent(thrown: unknown): boolean {
  for (let cause = thrown; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && NOT_CONNECTED.has(cause.code)) return true;
    // A stopping member answers so to requests that it has not processed (RFC 9113, 8.7).
    if (cause.message.includes("NGHTTP2_REFUSED_STREAM")) return true;
  }
  return false;
}
