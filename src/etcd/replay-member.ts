import { type Client, createClient } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { translateError } from "./error.ts";
import {
  AlarmRequest_AlarmAction as AlarmAction,
  AlarmType,
  KV,
  Lease,
  Maintenance,
} from "./proto/etcdserverpb/rpc_pb.js";
import { connectTo } from "./snapshot-source.ts";

/** A put or deletion of one key, as part of one revision. */
export type Operation =
  | { readonly put: Uint8Array; readonly value: Uint8Array; readonly lease: bigint }
  | { readonly delete: Uint8Array };

/** Renewals of a lease within its TTL, so that one lost renewal does not expire the lease. */
const RENEWALS = 3;
/** Milliseconds until a lease is renewed again, while the answer with its TTL is outstanding. */
const FIRST_RENEWAL_MS = 1_000;
/** Milliseconds between two checks for leases that are due for renewal. */
const LOOK_EVERY_MS = 500;

/** Deadline of one call in milliseconds. A revision that deletes a million keys takes some seconds. */
const CALL_MS = 120_000;

/**
 * Client for a temporary etcd that only this process uses. A restore replays archived changes into it, revision by
 * revision. Methods fail with OperatorErrors.
 */
export class ReplayMember {
  readonly address: string;
  readonly #signal: AbortSignal;
  readonly #close: () => void;
  readonly #kv: Client<typeof KV>;
  readonly #lease: Client<typeof Lease>;
  readonly #maintenance: Client<typeof Maintenance>;
  /** Lease ID → time of its next renewal, by `performance.now()`. */
  readonly #leases = new Map<bigint, number>();

  constructor(url: string, signal: AbortSignal) {
    const { address, transport, close } = connectTo({ url });
    this.address = address;
    this.#signal = signal;
    this.#close = close;
    this.#kv = createClient(KV, transport);
    this.#lease = createClient(Lease, transport);
    this.#maintenance = createClient(Maintenance, transport);
  }

  /** Applies all operations in one transaction. @returns its revision, and the number of deleted keys */
  async apply(operations: readonly Operation[]): Promise<{ readonly revision: bigint; readonly deleted: number }> {
    const success = operations.map((operation) =>
      "put" in operation
        ? {
            request: {
              case: "requestPut" as const,
              value: { key: operation.put, value: operation.value, lease: operation.lease },
            },
          }
        : { request: { case: "requestDeleteRange" as const, value: { key: operation.delete } } },
    );
    const answer = await this.#asked("Txn", (options) => this.#kv.txn({ success }, options));
    if (answer.header === undefined) throw new OperatorError("EtcdRejected", `Txn at ${this.address}: no header`);
    let deleted = 0;
    for (const { response } of answer.responses) {
      if (response.case === "responseDeleteRange") deleted += Number(response.value.deleted);
    }
    return { revision: answer.header.revision, deleted };
  }

  /**
   * Disarms NOSPACE for all members. A snapshot of a full database contains the alarm. Until it is disarmed, etcd
   * refuses every write, whatever the quota is.
   */
  async disarmNoSpace(): Promise<void> {
    const get = { action: AlarmAction.GET, alarm: AlarmType.NOSPACE };
    const { alarms } = await this.#asked("Alarm", (options) => this.#maintenance.alarm(get, options));
    for (const { memberID } of alarms) {
      const request = { action: AlarmAction.DEACTIVATE, memberID, alarm: AlarmType.NOSPACE };
      await this.#asked("Alarm", (options) => this.#maintenance.alarm(request, options));
    }
  }

  hasLease(id: bigint): boolean {
    return this.#leases.has(id);
  }

  /** @param seconds requested TTL; etcd raises it to at least 1.5 election timeouts */
  async grant(id: bigint, seconds: number): Promise<void> {
    await this.#asked("LeaseGrant", (options) => this.#lease.leaseGrant({ ID: id, TTL: BigInt(seconds) }, options));
    this.#leases.set(id, 0);
  }

  /** Reads the leases that the restored snapshot contains, so that they are renewed too. */
  async readLeases(): Promise<void> {
    const { leases } = await this.#asked("LeaseLeases", (options) => this.#lease.leaseLeases({}, options));
    for (const { ID } of leases) this.#leases.set(ID, 0);
  }

  /**
   * Renews all leases until the signal aborts. A lease that expires would delete its keys, in a revision that the
   * archived cluster never had.
   */
  async keepLeases(): Promise<never> {
    try {
      for await (const { ID, TTL } of this.#lease.leaseKeepAlive(this.#renewals(), { signal: this.#signal })) {
        if (TTL <= 0n) throw new OperatorError("EtcdRejected", `LeaseKeepAlive at ${this.address}: a lease is gone`);
        this.#leases.set(ID, performance.now() + (Number(TTL) * 1000) / RENEWALS);
      }
    } catch (thrown) {
      throw this.#translated("LeaseKeepAlive", thrown);
    }
    throw new OperatorError("EtcdUnavailable", `LeaseKeepAlive at ${this.address}: it ended`);
  }

  async *#renewals() {
    while (!this.#signal.aborted) {
      const nowMs = performance.now();
      for (const [ID, dueMs] of this.#leases) {
        if (dueMs > nowMs) continue;
        this.#leases.set(ID, nowMs + FIRST_RENEWAL_MS);
        yield { ID };
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  close(): void {
    this.#close();
  }

  async #asked<T>(
    method: string,
    ask: (options: { readonly signal: AbortSignal; readonly timeoutMs: number }) => Promise<T>,
  ): Promise<T> {
    try {
      return await ask({ signal: this.#signal, timeoutMs: CALL_MS });
    } catch (thrown) {
      throw this.#translated(method, thrown);
    }
  }

  #translated(method: string, thrown: unknown): OperatorError {
    if (thrown instanceof OperatorError) return thrown;
    return translateError({ method, address: this.address, signal: this.#signal }, thrown);
  }
}
