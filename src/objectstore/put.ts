import { randomUUID } from "node:crypto";
import { StoreError } from "./error.ts";
import { type Part, partsOf } from "./parts.ts";
import { aborted, type Patience } from "./patience.ts";
import type { Metadata, PutOptions, StoredObject } from "./store.ts";

// Why does every object have the ID of the put call that wrote it?
//   A commit is retried when its answer is lost, and may then find that the object exists. The ID shows whether it is
//   this call's object. The same holds when a call is aborted during its commit: only its own object is deleted.
// Why is a store asked first whether the object exists?
//   The condition on the commit protects the object; asking first avoids uploading gigabytes that would be refused at
//   the end.

/** Metadata field with the ID of the put call. Callers do not see it. */
export const PUT_ID = "put-id";

/** ID of the call that wrote the object with this metadata: "" without an ID; undefined when there is no object. */
export function putIDOf(metadata: Metadata | undefined): string | undefined {
  return metadata === undefined ? undefined : (metadata[PUT_ID] ?? "");
}

/** The object as callers see it: its metadata without the ID. */
export function withoutPutID(found: StoredObject | undefined): StoredObject | undefined {
  if (found === undefined) return undefined;
  const { [PUT_ID]: _, ...metadata } = found.metadata;
  return { ...found, metadata };
}

/** Two parts: while one is sent, the next is read. */
const BUFFERS = 2;

/** Writes one object. All methods retry by themselves and end with the signal. */
export interface Writer {
  readonly partBytes: number;
  /** Number of parts sent in parallel. */
  readonly parallel: 1 | 2;
  /** ID of the existing object: "" without an ID; undefined when there is none. */
  putID(signal: AbortSignal): Promise<string | undefined>;
  /** Writes the whole object in one request, without overwriting. */
  whole(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  begin(signal: AbortSignal): Promise<void>;
  part(part: Part, signal: AbortSignal): Promise<void>;
  /** Makes the sent parts visible at once, without overwriting. */
  commit(signal: AbortSignal): Promise<void>;
  /** Ends uploads of the same key by earlier calls, once this object is visible. Never throws. */
  endOthers?(signal: AbortSignal): Promise<void>;
  /** Deletes the parts that were sent and are not visible. */
  abandon(signal: AbortSignal): Promise<void>;
  /** Deletes the object. */
  remove(signal: AbortSignal): Promise<void>;
}

/** Creates the writer of an object with this ID in its metadata. */
export type NewWriter = (putID: string) => Writer;

/** @param what name of the operation in messages. Example: `put a/b.db to bucket backups` */
export async function put(
  what: string,
  body: AsyncIterable<Uint8Array>,
  options: PutOptions,
  patience: Patience,
  newWriter: NewWriter,
): Promise<{ bytes: number }> {
  const id = randomUUID();
  const writer = newWriter(id);
  const upload = new Upload(what, writer, id, options.signal, patience);
  try {
    return { bytes: await upload.run(body) };
  } catch (thrown) {
    // The signal that ended the upload must not end the cleanup.
    await upload.undo(AbortSignal.timeout(patience.cleanUpMs)).catch(() => {}); // The first error is more informative.
    throw thrown;
  }
}

class Upload {
  readonly #what: string;
  readonly #writer: Writer;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  /** Ends the running requests when one of them fails. */
  readonly #stop = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  readonly #sending = new Set<Promise<void>>();
  #hasBegun = false;
  /** Whether the object may have become visible. */
  #mayBeSeen = false;

  constructor(what: string, writer: Writer, id: string, signal: AbortSignal, patience: Patience) {
    this.#what = what;
    this.#writer = writer;
    this.#id = id;
    this.#signal = signal;
    this.#patience = patience;
    this.#failed.promise.catch(() => {});
  }

  async run(body: AsyncIterable<Uint8Array>): Promise<number> {
    const onAbort = () => this.#fail(aborted(this.#what));
    if (this.#signal.aborted) onAbort();
    this.#signal.addEventListener("abort", onAbort);
    try {
      return await this.#send(body);
    } catch (thrown) {
      this.#fail(thrown);
      throw thrown;
    } finally {
      this.#signal.removeEventListener("abort", onAbort);
      await Promise.allSettled(this.#sending);
    }
  }

  async #send(body: AsyncIterable<Uint8Array>): Promise<number> {
    if ((await this.#orFailure(this.#thereBefore())) !== undefined) throw this.#exists();
    const parts = partsOf(body, this.#writer.partBytes, BUFFERS);
    try {
      for (;;) {
        // A body that hangs must not delay a failure or an abort.
        const { value: part, done } = await this.#orFailure(parts.next());
        if (done) throw new Error("a body ended without its last part");
        if (!part.isLast) await this.#part(part);
        else return await this.#last(part);
      }
    } finally {
      // Not awaited: it resolves only when the body does.
      parts.return().catch(() => {});
    }
  }

  /** A client with write access only cannot ask: then the condition alone protects the object. */
  async #thereBefore(): Promise<string | undefined> {
    try {
      return await this.#writer.putID(this.#stop.signal);
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.reason === "AccessDenied") return undefined;
      throw thrown;
    }
  }

  async #part(part: Part): Promise<void> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      await this.#orFailure(this.#writer.begin(this.#stop.signal));
    }
    while (this.#sending.size >= this.#writer.parallel) await this.#orFailure(Promise.race(this.#sending));
    const sent = this.#writer.part(part, this.#stop.signal).then(
      () => {
        this.#sending.delete(sent);
        part.release();
      },
      (thrown) => {
        this.#sending.delete(sent);
        this.#fail(thrown);
      },
    );
    this.#sending.add(sent);
  }

  async #last(part: Part): Promise<number> {
    const isWhole = part.index === 0;
    const commit = isWhole
      ? () => this.#writer.whole(part.bytes, this.#stop.signal)
      : () => this.#writer.commit(this.#stop.signal);
    if (!isWhole) await this.#part(part); // Its buffer is not reused: `commit` may still read it.
    while (this.#sending.size > 0) await this.#orFailure(Promise.race(this.#sending));
    this.#mayBeSeen = true;
    try {
      await this.#orFailure(commit());
    } catch (thrown) {
      if (!(await this.#isOurs(thrown))) throw thrown;
    }
    // The object is stored: an abort from here on does not fail the call.
    if (!isWhole) await this.#writer.endOthers?.(this.#stop.signal);
    return part.offset + part.bytes.length;
  }

  /** Whether the object is ours although the last request failed. */
  async #isOurs(thrown: unknown): Promise<boolean> {
    if (this.#signal.aborted || !(thrown instanceof StoreError)) return false;
    // A short limit suffices, because the retries of the last request have already waited for the store.
    const soon = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(this.#patience.cleanUpMs)]);
    return (await this.#writer.putID(soon).catch(() => undefined)) === this.#id;
  }

  async undo(signal: AbortSignal): Promise<void> {
    try {
      if (this.#hasBegun) await this.#writer.abandon(signal);
    } finally {
      if (this.#mayBeSeen && (await this.#writer.putID(signal)) === this.#id) await this.#writer.remove(signal);
    }
  }

  #exists(): StoreError {
    return new StoreError("ObjectExists", `${this.#what}: an object with that key exists, and nothing is overwritten`);
  }

  #fail(thrown: unknown): void {
    this.#failed.reject(thrown);
    this.#stop.abort(thrown);
  }

  #orFailure<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {}); // It may fail when it is no longer awaited.
    return Promise.race([promise, this.#failed.promise]);
  }
}
