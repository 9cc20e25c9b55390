import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { ObjectStore } from "#objectstore/store.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { asAgentError } from "../copy.ts";
import { isStoreError } from "../store-error.ts";
import { findTip, type HistoryPlace, lastOf, readTip, type Stored, type Tip } from "./history.ts";
import { changesKey, folderOf, quietKey } from "./layout.ts";
import { type Closing, FORMAT, type GapReason } from "./line.ts";
import { each, type Packed, Packet } from "./packet.ts";
import type { Ends } from "./read.ts";
import { isoOf, type Recorder } from "./recorder.ts";

export interface KeeperParts {
  readonly store: ObjectStore;
  readonly prefix: string;
  readonly key: EncryptionKey | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the reason why storing fails at the moment; undefined: it works again. */
  readonly onTrouble: (why: string | undefined) => void;
}

/** Pauses between attempts to store an object, in milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Another archiver has stored the next object: the changes must be received again after it. */
export class Overtaken extends Error {}

/** Writes the archive of one cluster: each object begins at the revision after the last stored one. */
export class Keeper {
  readonly clusterID: string;
  tip: Tip;
  /** Number of gaps written. */
  gaps = 0;
  /** Number of objects written, and their stored size. */
  objects = 0;
  bytes = 0;
  readonly #parts: KeeperParts;
  /** Keys of quiet objects to delete once a newer one is stored. */
  #quiets: readonly string[];

  constructor(parts: KeeperParts, clusterID: string, tip: Tip) {
    this.#parts = parts;
    this.clusterID = clusterID;
    this.tip = tip;
    this.#quiets = tip.quiets;
  }

  static async open(parts: KeeperParts, clusterID: string, signal: AbortSignal): Promise<Keeper> {
    return new Keeper(parts, clusterID, await findTip({ ...parts, clusterID, signal }));
  }

  get stored(): Stored {
    if (this.tip.kind !== "stored") throw new Error("nothing is stored yet");
    return this.tip;
  }

  /**
   * Stores the completely received revisions. @param untilMs nothing happened after them until this time @throws
   * Overtaken; StoreError
   */
  async keep(recorder: Recorder, untilMs: number, signal: AbortSignal): Promise<void> {
    const closing = recorder.closing(untilMs);
    const packed = await recorder.packet.close(closing, this.#parts.key);
    await this.#put(this.stored.number, recorder.packet, closing, packed, signal);
  }

  /** Records that the changes from the last object to this revision are unknown. */
  async gap(reason: GapReason, last: bigint, message: string, signal: AbortSignal): Promise<void> {
    this.gaps += 1;
    await this.#putGap(this.stored.number, this.stored, reason, last, message, signal);
  }

  /** Begins a history after this revision. */
  async begin(reason: GapReason, last: bigint, message: string, signal: AbortSignal): Promise<void> {
    if (reason !== "Began") this.gaps += 1;
    await this.#putGap(this.tip.number + 1, undefined, reason, last, message, signal);
  }

  /** When the present history began, if an older one exists; undefined also when its first object was deleted. */
  async since(signal: AbortSignal): Promise<string | undefined> {
    const { number } = this.stored;
    if (number === 1) return undefined;
    const began = await readTip(this.#place(signal), number, changesKey(this.#folder(number), 0n)).catch((thrown) => {
      if (isStoreError(thrown, "NoSuchObject")) return undefined;
      throw thrown;
    });
    return began?.kind === "stored" ? began.ends.closing.until : undefined;
  }

  /** Records that nothing happened until this time. At most one such object is kept. */
  async quiet(untilMs: number, signal: AbortSignal): Promise<void> {
    const { store, key } = this.#parts;
    const { ends, number } = this.stored;
    const { last, from } = ends.closing;
    const before = { key: ends.key, sha256: ends.sha256 };
    const first = (BigInt(last) + 1n).toString();
    const packet = new Packet({ format: FORMAT, clusterID: this.clusterID, first, previous: before });
    const { chunks } = await packet.close({ last, from, until: isoOf(untilMs) }, key);
    const quiet = quietKey(this.#folder(number), BigInt(last), untilMs);
    this.#count(await this.#retrying(signal, () => store.put(quiet, each(chunks), { needsCondition: true, signal })));
    for (const old of this.#quiets) await store.delete(old, { signal });
    this.#quiets = [quiet];
    this.tip = { ...this.stored, untilMs };
  }

  async #putGap(
    number: number,
    before: Stored | undefined,
    reason: GapReason,
    last: bigint,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log, key } = this.#parts;
    const first = before === undefined ? 0n : lastOf(before) + 1n;
    const previous = before && { key: before.ends.key, sha256: before.ends.sha256 };
    const packet = new Packet({
      format: FORMAT,
      clusterID: this.clusterID,
      first: first.toString(),
      ...(previous === undefined ? {} : { previous }),
      gap: { reason, message },
    });
    const from = (last + 1n).toString();
    const closing = { last: last.toString(), from, until: isoOf(clock.wallMs()) };
    await this.#put(number, packet, closing, await packet.close(closing, key), signal);
    log.warn({ code: reason, because: message }, `changes up to revision ${last} could not be archived`);
  }

  async #put(
    number: number,
    { opening }: Packet,
    closing: Omit<Closing, "sha256">,
    { chunks, sha256 }: Packed,
    signal: AbortSignal,
  ): Promise<void> {
    const { store } = this.#parts;
    const key = changesKey(this.#folder(number), BigInt(opening.first));
    try {
      const stored = await this.#retrying(signal, () => store.put(key, each(chunks), { needsCondition: true, signal }));
      this.#count(stored);
      this.#parts.log.info(
        { object: key, storedBytes: stored.bytes },
        `changes up to revision ${closing.last} are stored`,
      );
    } catch (thrown) {
      if (!isStoreError(thrown, "ObjectExists")) throw thrown;
      this.tip = await readTip(this.#place(signal), number, key);
      throw new Overtaken(`${key} exists already`);
    }
    const ends: Ends = { key, opening, sha256, closing: { ...closing, sha256: "" } };
    this.tip = { kind: "stored", number, ends, untilMs: Date.parse(closing.until), quiets: [] };
  }

  #place(signal: AbortSignal): HistoryPlace {
    return { ...this.#parts, clusterID: this.clusterID, signal };
  }

  #count({ bytes }: { readonly bytes: number }): void {
    this.objects += 1;
    this.bytes += bytes;
  }

  /**
   * Retries while the store is unreachable. Received changes stay in memory, and etcd waits. @throws StoreError for a
   * failure that retries cannot fix
   */
  async #retrying<T>(signal: AbortSignal, store: () => Promise<T>): Promise<T> {
    const { clock, log, onTrouble } = this.#parts;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const done = await store();
        onTrouble(undefined);
        return done;
      } catch (thrown) {
        const { reason, message } = asAgentError(thrown);
        if (signal.aborted || reason !== "StoreUnreachable") throw thrown;
        log.warn(
          { code: reason, error: message },
          "changes cannot be stored; they stay in memory and storing is retried",
        );
        onTrouble(message);
        await clock.sleep(pauseMs, signal);
      }
    }
  }

  #folder(number: number): string {
    return folderOf(this.#parts.prefix, { clusterID: this.clusterID, number });
  }
}
