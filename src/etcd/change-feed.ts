import { once } from "node:events";
import { type Client, createClient, type CallOptions as RpcOptions, type Transport } from "@connectrpc/connect";
import { OperatorError } from "#base/error.ts";
import { AnswerTooLarge } from "./answer-bounds.ts";
import { translateError } from "./error.ts";
import { Lease, Watch, type WatchResponse } from "./proto/etcdserverpb/rpc_pb.js";
import { Event_EventType as EventType } from "./proto/mvccpb/kv_pb.js";

/** A put or deletion of one key, at one revision. */
export interface Change {
  readonly revision: bigint;
  readonly key: Uint8Array;
  /** Undefined: the key was deleted. */
  readonly value: Uint8Array | undefined;
  /** ID of the lease that the key is attached to; 0: none. */
  readonly lease: bigint;
}

/** An item of the feed, in order. */
export type Heard =
  /** First item: the cluster that answers, and the member's revision when the watch was created. */
  | { readonly kind: "opened"; readonly clusterID: bigint; readonly revision: bigint }
  /** Changes in order of revision. `isWhole`: the last change's revision is complete; no fragment of it follows. */
  | { readonly kind: "changes"; readonly changes: readonly Change[]; readonly isWhole: boolean }
  /** Last item: etcd has compacted the requested start revision; changes before `revision` are gone. */
  | { readonly kind: "compacted"; readonly revision: bigint }
  /** Last item: the next watch response exceeds the bounds of answer-bounds.ts. */
  | { readonly kind: "tooLarge"; readonly message: string };

const ALL_KEYS = { key: new Uint8Array([0]), rangeEnd: new Uint8Array([0]) };

/**
 * Header that makes a member without a leader end the watch; otherwise the watch would stay open and silent.
 * See `MetadataRequireLeaderKey` in etcd's api/v3rpc/rpctypes.
 */
const REQUIRE_LEADER = ["hasleader", "true"] as const;

/** Watch over all keys of a member. Methods fail with the same OperatorErrors as SnapshotSource. */
export class ChangeFeed {
  readonly #address: string;
  readonly #watch: Client<typeof Watch>;
  readonly #lease: Client<typeof Lease>;
  readonly #options: (signal: AbortSignal) => RpcOptions;

  /** @param options builds the options of a call, with the login token and this signal */
  constructor(address: string, transport: Transport, options: (signal: AbortSignal) => RpcOptions) {
    this.#address = address;
    this.#watch = createClient(Watch, transport);
    this.#lease = createClient(Lease, transport);
    this.#options = options;
  }

  /**
   * Streams every change from this revision on, with backpressure: unread changes wait at the member. Returns only
   * after `compacted` or `tooLarge`; throws when the signal aborts or the watch ends.
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
      if (thrown instanceof AnswerTooLarge) {
        yield { kind: "tooLarge", message: thrown.rawMessage };
        return;
      }
      throw this.#translated("Watch", signal, thrown);
    }
    throw new OperatorError(signal.aborted ? "Cancelled" : "EtcdUnavailable", `Watch at ${this.#address}: it ended`);
  }

  /** Granted TTL of a lease in seconds. Undefined when the lease does not exist any more. */
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

/** The create request, and then a request stream that stays open: etcd ends a watch when its request stream ends. */
async function* requests(create: object, signal: AbortSignal) {
  yield { requestUnion: { case: "createRequest" as const, value: create } };
  if (!signal.aborted) await once(signal, "abort");
}
