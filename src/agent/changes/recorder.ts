import { createHash, type Hash } from "node:crypto";
import type { Change } from "#etcd/change-feed.ts";
import type { Closing, DeleteLine, PutLine } from "./line.ts";
import { FORMAT } from "./line.ts";
import { Packet } from "./packet.ts";
import type { Ends } from "./read.ts";

/** When a change was received. */
export interface HeardAt {
  readonly atMs: number;
  /** Set when the feed was not open before: the change happened after this time. */
  readonly afterMs?: number | undefined;
}

/** TTL of a lease in seconds; undefined when the lease has expired. */
export type TTLOf = (lease: bigint) => Promise<number | undefined>;

/** Collects the changes of the next object, which begins right after the stored one. */
export class Recorder {
  /** The last completely received revision. */
  whole: bigint;
  /** When the newest revision was first received. */
  lastAtMs = 0;
  /** When the first change was received, by the monotonic clock. */
  readonly sinceMs: number;
  readonly #before: Ends;
  readonly #packet: Packet;
  readonly #ttlOf: TTLOf;
  readonly #leases = new Set<bigint>();
  #fingerprint: string | undefined;
  #open: { readonly revision: bigint; readonly hash: Hash } | undefined;

  /** @param before the last stored object */
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

  /** Whether this change begins a revision, so that a new object may begin with it. */
  begins(change: Change): boolean {
    return change.revision !== this.#open?.revision;
  }

  /** Whether the last revision is complete. */
  get isWhole(): boolean {
    return this.#open === undefined;
  }

  /** @param change of the current revision, or of the next one */
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

  /** Marks the current revision as complete. */
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

  /** Closing line of an object with all complete revisions. */
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

/** Computes Closing.fingerprint. */
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
