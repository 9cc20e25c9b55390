import { createHash, type Hash } from "node:crypto";
import type { Change } from "#etcd/change-feed.ts";
import type { Closing, DeleteLine, PutLine } from "./line.ts";
import { FORMAT } from "./line.ts";
import { Packet } from "./packet.ts";
import type { Ends } from "./read.ts";

/** When a revision was heard of. */
export interface HeardAt {
  readonly atMs: number;
  /** Set when nobody was listening: it happened after this time. */
  readonly afterMs?: number | undefined;
}

/** For how many seconds a lease was granted; undefined when nobody knows any more. */
export type TTLOf = (lease: bigint) => Promise<number | undefined>;

/** What has been heard and is not stored yet. It begins right behind the object before. */
export class Recorder {
  /** The last revision that was heard to its end. */
  whole: bigint;
  /** When the last one was heard of that has begun. */
  lastAtMs = 0;
  /** When the first change was heard, by the monotonic clock. */
  readonly sinceMs: number;
  readonly #before: Ends;
  readonly #packet: Packet;
  readonly #ttlOf: TTLOf;
  readonly #leases = new Set<bigint>();
  #fingerprint: string | undefined;
  #open: { readonly revision: bigint; readonly hash: Hash } | undefined;

  /** @param before the object that is stored already */
  constructor(before: Ends, ttlOf: TTLOf, sinceMs: number) {
    this.#before = before;
    this.sinceMs = sinceMs;
    this.whole = BigInt(before.closing.last);
    this.#ttlOf = ttlOf;
    const { key, sha256, opening } = before;
    const first = (this.whole + 1n).toString();
    this.#packet = new Packet({ format: FORMAT, clusterID: opening.clusterID, first, previous: { key, sha256 } });
  }

  get first(): bigint {
    return BigInt(this.#packet.opening.first);
  }

  get bytes(): number {
    return this.#packet.bytes;
  }

  /** Whether the next object may begin with this change. */
  begins(change: Change): boolean {
    return change.revision !== this.#open?.revision;
  }

  /** Whether no more changes of the last revision will come. */
  get isWhole(): boolean {
    return this.#open === undefined;
  }

  /** @param change of the revision that was heard last, or of the next one */
  async add(change: Change, heard: HeardAt): Promise<void> {
    const { revision, lease } = change;
    if (this.begins(change)) await this.#begin(revision, heard);
    const isBound = change.value !== undefined && lease !== 0n;
    if (isBound && !this.#leases.has(lease)) {
      this.#leases.add(lease);
      const ttl = await this.#ttlOf(lease);
      if (ttl !== undefined) await this.#packet.add({ lease: lease.toString(16), ttl });
    }
    const line = lineOf(change);
    this.#open?.hash.update(JSON.stringify(line));
    await this.#packet.add(line);
  }

  /** No more changes of the revision that was heard last will come. */
  complete(): void {
    if (this.#open === undefined) return;
    this.whole = this.#open.revision;
    this.#fingerprint = this.#open.hash.digest("hex");
    this.#open = undefined;
  }

  async #begin(revision: bigint, { atMs, afterMs }: HeardAt): Promise<void> {
    this.complete();
    this.lastAtMs = atMs;
    this.#open = { revision, hash: createHash("sha256") };
    const after = afterMs === undefined ? {} : { after: isoOf(afterMs) };
    await this.#packet.add({ revision: revision.toString(), at: isoOf(atMs), ...after });
  }

  /** What an object says at its end with everything that was heard so far. */
  closing(untilMs: number): Omit<Closing, "sha256"> {
    const { from } = this.#before.closing;
    const fingerprint = this.#fingerprint === undefined ? {} : { fingerprint: this.#fingerprint };
    return { last: this.whole.toString(), from, until: isoOf(untilMs), ...fingerprint };
  }

  get packet(): Packet {
    return this.#packet;
  }
}

export function lineOf({ key, value, lease }: Change): PutLine | DeleteLine {
  if (value === undefined) return { delete: base64(key) };
  const bound = lease === 0n ? {} : { lease: lease.toString(16) };
  return { put: base64(key), value: base64(value), ...bound };
}

/** Like Closing.fingerprint. */
export function fingerprintOf(changes: readonly Change[]): string {
  const hash = createHash("sha256");
  for (const change of changes) hash.update(JSON.stringify(lineOf(change)));
  return hash.digest("hex");
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
