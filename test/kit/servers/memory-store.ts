import { StoreError } from "#objectstore/error.ts";
import type { CallOptions, GetOptions, Metadata, ObjectStore, PutOptions, StoredObject } from "#objectstore/store.ts";

interface Kept {
  readonly bytes: Buffer;
  readonly metadata: Metadata;
  readonly modified?: Date;
}

/** An object store in memory with the same contract. A test injects faults with `before`. */
export class MemoryStore implements ObjectStore {
  readonly objects = new Map<string, Kept>();
  /** Every call, as `put KEY`, in order. */
  readonly calls: string[] = [];
  /** Modification time of the next stored object. */
  now: () => Date = () => new Date(0);
  /** Called before each call; the call throws what it throws. */
  before: (call: string) => void = () => undefined;

  get keys(): readonly string[] {
    return [...this.objects.keys()].sort();
  }

  async put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    { metadata = {}, signal }: PutOptions,
  ): Promise<{ bytes: number }> {
    this.#called("put", key, signal);
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(Buffer.from(part));
    if (signal.aborted) throw new StoreError("Aborted", `put ${key}: the call was aborted`);
    if (this.objects.has(key)) throw new StoreError("ObjectExists", `put ${key}: it is there`);
    const bytes = Buffer.concat(parts);
    this.objects.set(key, { bytes, metadata, modified: this.now() });
    return { bytes: bytes.length };
  }

  async *get(key: string, { signal, from = 0 }: GetOptions): AsyncGenerator<Uint8Array, void> {
    this.#called("get", key, signal);
    const found = this.objects.get(key);
    if (found === undefined) throw new StoreError("NoSuchObject", `get ${key}: the object does not exist`);
    yield await Promise.resolve(found.bytes.subarray(from));
  }

  head(key: string, { signal }: CallOptions): Promise<StoredObject | undefined> {
    this.#called("head", key, signal);
    const found = this.objects.get(key);
    const object = found && {
      key,
      bytes: found.bytes.length,
      modified: found.modified ?? new Date(0),
      metadata: found.metadata,
    };
    return Promise.resolve(object);
  }

  async *list(prefix: string, { signal }: CallOptions): AsyncGenerator<StoredObject, void> {
    this.#called("list", prefix, signal);
    for (const key of this.keys) {
      const found = key.startsWith(prefix) ? await this.head(key, { signal }) : undefined;
      if (found !== undefined) yield { ...found, metadata: {} };
    }
  }

  delete(key: string, { signal }: CallOptions): Promise<void> {
    this.#called("delete", key, signal);
    this.objects.delete(key);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #called(what: string, key: string, signal: AbortSignal): void {
    if (signal.aborted) throw new StoreError("Aborted", `${what} ${key}: the call was aborted`);
    this.calls.push(`${what} ${key}`);
    this.before(`${what} ${key}`);
  }
}
