/** Metadata of an object, without its bytes. */
export interface StoredObject {
  /** `/`-separated names; see `checkKey` in key.ts. */
  readonly key: string;
  readonly bytes: number;
  readonly modified: Date;
  /** The metadata given to `put`. Empty in results of `list`: not every store returns it there. */
  readonly metadata: Metadata;
}

/** Names in lower case letters, digits and `-`, since stores pass them as HTTP headers; values in printable ASCII. */
export type Metadata = Readonly<Record<string, string>>;

export interface CallOptions {
  /** Ends the call with reason `Aborted`. Calls also end by themselves when the store does not answer. */
  readonly signal: AbortSignal;
}

export interface PutOptions extends CallOptions {
  readonly metadata?: Metadata;
  /** Approximate size, if known: parts become larger where a store limits their number. */
  readonly expectedBytes?: number;
  /** Whether a store without conditional writes is refused (`InvalidLocation`). */
  readonly needsCondition?: boolean;
}

export interface GetOptions extends CallOptions {
  /** First byte to read, from 0. When it equals the size, nothing is read. */
  readonly from?: number;
}

/** A bucket, container or directory with objects. All methods throw only StoreError, except errors of `body`. */
export interface ObjectStore {
  /**
   * Writes a new object and returns when it is durable; an existing object is never overwritten (`ObjectExists`). After
   * a failure or abort nothing is visible, and parts are deleted where the store allows it. Memory is bounded for any
   * size, and errors of `body` are thrown unchanged.
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ readonly bytes: number }>;
  /** Yields the bytes of one version of the object, also after a reconnect. */
  get(key: string, options: GetOptions): AsyncIterable<Uint8Array>;
  /** Undefined when the object does not exist. */
  head(key: string, options: CallOptions): Promise<StoredObject | undefined>;
  /** Objects with a key that begins with `prefix`, in any order. */
  list(prefix: string, options: CallOptions): AsyncIterable<StoredObject>;
  /** Succeeds also when the object does not exist. */
  delete(key: string, options: CallOptions): Promise<void>;
  /** Closes connections. */
  close(): Promise<void>;
}
