import { type Client, createClient } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { translateError } from "./error.ts";
import { KV, Lease } from "./proto/etcdserverpb/rpc_pb.js";
import { connectTo } from "./snapshot-source.ts";

/** What one revision is to do to one key. */
export type Operation =
  | { readonly put: Uint8Array; readonly value: Uint8Array; readonly lease: bigint }
  | { readonly delete: Uint8Array };

/** Leases are renewed so many times within the time for which they were granted. */
const RENEWALS = 3;
/** Until the member has told for how long a lease was granted, in milliseconds. */
const FIRST_RENEWAL_MS = 1_000;
/** How often it is looked which lease is to be renewed. */
const LOOK_EVERY_MS = 500;

/** For one call, in milliseconds; a revision that deletes a million keys takes some seconds. */
const CALL_MS = 120_000;

/** A throw-away member that is nobody else's, whose history is written anew, revision by revision. Fails with OperatorErrors. */
export class ReplayMember {
  readonly address: string;
  readonly #signal: AbortSignal;
  readonly #close: () => void;
  readonly #kv: Client<typeof KV>;
  readonly #lease: Client<typeof Lease>;
  /** When each lease is to be renewed. */
  readonly #leases = new Map<bigint, number>();

  constructor(url: string, signal: AbortSignal) {
    const { address, transport, close } = connectTo({ url });
    this.address = address;
    this.#signal = signal;
    this.#close = close;
    this.#kv = createClient(KV, transport);
    this.#lease = createClient(Lease, transport);
  }

  /** Does all of it in one revision. @returns that revision, and how many keys were deleted */
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

  hasLease(id: bigint): boolean {
    return this.#leases.has(id);
  }

  /** @param seconds etcd may make it more: as long as an election takes, and a half */
  async grant(id: bigint, seconds: number): Promise<void> {
    await this.#asked("LeaseGrant", (options) => this.#lease.leaseGrant({ ID: id, TTL: BigInt(seconds) }, options));
    this.#leases.set(id, 0);
  }

  /** Which leases it has from the start. */
  async readLeases(): Promise<void> {
    const { leases } = await this.#asked("LeaseLeases", (options) => this.#lease.leaseLeases({}, options));
    for (const { ID } of leases) this.#leases.set(ID, 0);
  }

  /** Renews all leases until the signal, so that none expires: that would be a revision that never was. */
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
