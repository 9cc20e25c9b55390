import { once } from "node:events";
import { type Client, createClient, type CallOptions as RpcOptions, type Transport } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { translateError } from "./error.ts";
import { Lease, Watch, type WatchResponse } from "./proto/etcdserverpb/rpc_pb.js";
import { Event_EventType as EventType } from "./proto/mvccpb/kv_pb.js";

/** What one revision did to one key. */
export interface Change {
  readonly revision: bigint;
  readonly key: Uint8Array;
  /** Undefined: the key was deleted. */
  readonly value: Uint8Array | undefined;
  /** To which the key is bound; 0: to none. */
  readonly lease: bigint;
}

/** What a feed tells, in order. */
export type Heard =
  /** The first word: who tells, and at which revision the member was when the feed began. */
  | { readonly kind: "opened"; readonly clusterID: bigint; readonly revision: bigint }
  /** Changes in the order in which they happened. `isWhole`: no more changes of the last one's revision will come. */
  | { readonly kind: "changes"; readonly changes: readonly Change[]; readonly isWhole: boolean }
  /** The last word: changes from the wanted revision on are gone, up to this one. */
  | { readonly kind: "compacted"; readonly revision: bigint };

const ALL_KEYS = { key: new Uint8Array([0]), rangeEnd: new Uint8Array([0]) };

/** With it, a member that loses its leader ends the feed instead of falling silent (`MetadataRequireLeaderKey` in etcd's api/v3rpc/rpctypes). */
const REQUIRE_LEADER = ["hasleader", "true"] as const;

/** Everything that happens to a member's keys. Fails with OperatorErrors, like the source to which it belongs. */
export class ChangeFeed {
  readonly #address: string;
  readonly #watch: Client<typeof Watch>;
  readonly #lease: Client<typeof Lease>;
  readonly #options: (signal: AbortSignal) => RpcOptions;

  /** @param options for a call with this signal */
  constructor(address: string, transport: Transport, options: (signal: AbortSignal) => RpcOptions) {
    this.#address = address;
    this.#watch = createClient(Watch, transport);
    this.#lease = createClient(Lease, transport);
    this.#options = options;
  }

  /**
   * Every change from this revision on, and then as they happen. No more is read than is taken; what waits, waits at the member. Ends only with
   * `compacted`, or by the signal.
   */
  async *from(startRevision: bigint, signal: AbortSignal): AsyncGenerator<Heard, void> {
    const options = this.#options(signal);
    const headers = new Headers(options.headers);
    headers.set(...REQUIRE_LEADER);
    const create = { ...ALL_KEYS, startRevision, fragment: true };
    try {
      const answers = this.#watch.watch(requests(create, signal), { ...options, headers });
      for await (const answer of answers) {
        const heard = this.#heardIn(answer);
        if (heard !== undefined) yield heard;
        if (heard?.kind === "compacted") return;
      }
    } catch (thrown) {
      throw this.#translated("Watch", signal, thrown);
    }
    throw new OperatorError(signal.aborted ? "Cancelled" : "EtcdUnavailable", `Watch at ${this.#address}: it ended`);
  }

  /** For how many seconds a lease was granted; undefined when it is no more. */
  async grantedTTL(lease: bigint, { signal, deadlineMs }: { signal: AbortSignal; deadlineMs: number }) {
    try {
      const options = { ...this.#options(signal), timeoutMs: deadlineMs };
      const { grantedTTL } = await this.#lease.leaseTimeToLive({ ID: lease }, options);
      return grantedTTL > 0n ? Number(grantedTTL) : undefined;
    } catch (thrown) {
      throw this.#translated("LeaseTimeToLive", signal, thrown);
    }
  }

  #heardIn(answer: WatchResponse): Heard | undefined {
    const { header, events, compactRevision } = answer;
    if (compactRevision > 0n) return { kind: "compacted", revision: compactRevision };
    if (answer.canceled) {
      throw new OperatorError("EtcdUnavailable", `Watch at ${this.#address}: ended by etcd: ${answer.cancelReason}`);
    }
    if (answer.created) {
      if (header === undefined)
        throw new OperatorError("EtcdRejected", `Watch at ${this.#address}: there is no header`);
      return { kind: "opened", clusterID: header.clusterId, revision: header.revision };
    }
    if (events.length === 0) return undefined;
    const changes = events.flatMap(({ type, kv }) => {
      if (kv === undefined) return [];
      const { key, modRevision: revision, lease } = kv;
      return [{ revision, key, lease, value: type === EventType.DELETE ? undefined : kv.value }];
    });
    return { kind: "changes", changes, isWhole: !answer.fragment };
  }

  #translated(method: string, signal: AbortSignal, thrown: unknown): OperatorError {
    return translateError({ method, address: this.#address, signal }, thrown);
  }
}

/** etcd ends a watch whose requests have ended. */
async function* requests(create: object, signal: AbortSignal) {
  yield { requestUnion: { case: "createRequest" as const, value: create } };
  if (!signal.aborted) await once(signal, "abort");
}
