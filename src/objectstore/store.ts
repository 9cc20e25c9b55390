/** What one object is, without its bytes. */
export interface StoredObject {
  /** Names in `/`-separated folders; see `checkKey` in key.ts for what it may be. */
  readonly key: string;
  readonly bytes: number;
  readonly modified: Date;
  /** What `put` was given. Empty in what `list` yields: not every store tells it there. */
  readonly metadata: Metadata;
}

/** Names in lower case letters, digits and `-`, since stores pass them as HTTP headers; values in printable ASCII. */
export type Metadata = Readonly<Record<string, string>>;

export interface CallOptions {
  /** Ends the call with reason `Aborted`. A call that the store leaves without an answer ends by itself. */
  readonly signal: AbortSignal;
}

export interface PutOptions extends CallOptions {
  readonly metadata?: Metadata;
  /** About how many bytes will come, when it is known: parts grow with it where a store limits their number. */
  readonly expectedBytes?: number;
}

export interface GetOptions extends CallOptions {
  /** The first byte wanted, counted from 0. None are left when it is the size. */
  readonly from?: number;
}

/**
 * A place that keeps objects: a bucket, a container, a directory. Every method throws StoreError, and nothing else, except
 * what `body` itself throws.
 */
export interface ObjectStore {
  /**
   * Writes a new object and returns when it is safe. An object of that key is never overwritten (`ObjectExists`). When this
   * fails or `signal` aborts, none of it is to be seen, and what lies half-written is removed where a store lets it be.
   * Memory is bounded, whatever the size. What `body` throws is thrown as it is.
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ readonly bytes: number }>;
  /** Bytes as they come. They are of one and the same object, also when a connection that broke is made again. */
  get(key: string, options: GetOptions): AsyncIterable<Uint8Array>;
  /** Undefined when it is not there. */
  head(key: string, options: CallOptions): Promise<StoredObject | undefined>;
  /** Every object whose key begins with `prefix`, in no order that one may count on. */
  list(prefix: string, options: CallOptions): AsyncIterable<StoredObject>;
  /** That it is absent is fine. */
  delete(key: string, options: CallOptions): Promise<void>;
  /** Lets go of connections. */
  close(): Promise<void>;
}
