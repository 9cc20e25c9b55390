import { AgentError } from "../error.ts";
import type { Compression } from "../task.ts";
import { type Bytes, Tally } from "./bytes.ts";
import { SnapshotCheck } from "./integrity.ts";
import type { EncryptionKey } from "./key.ts";
import type { Manifest } from "./manifest.ts";
import { decrypted, encrypted } from "./seal.ts";
import { compressed, decompressed } from "./zstd.ts";

/** How a snapshot is stored. */
export interface Packing {
  readonly compression: Compression;
  /** Undefined: not encrypted. */
  readonly key: EncryptionKey | undefined;
}

/** Sizes and hashes in a manifest. */
export type Measures = Pick<Manifest, "bytes" | "sha256" | "storedBytes" | "storedSha256">;

/** A snapshot on its way from etcd to the store: verified, compressed, encrypted. */
export class PackedSnapshot {
  readonly #packing: Packing;
  readonly #snapshot = new SnapshotCheck();
  readonly #stored = new Tally();

  constructor(packing: Packing) {
    this.#packing = packing;
  }

  /** The bytes of the object. @throws AgentError SnapshotCorrupt, and any error of `source` */
  pass(source: Bytes): AsyncGenerator<Uint8Array, void> {
    const { compression, key } = this.#packing;
    let bytes = this.#snapshot.pass(source);
    if (this.#isPlain) return bytes;
    if (compression === "Zstd") bytes = compressed(bytes);
    if (key !== undefined) bytes = encrypted(bytes, key);
    return this.#stored.pass(bytes);
  }

  /** Snapshot bytes so far. */
  get bytesRead(): number {
    return this.#snapshot.bytes;
  }

  /** Available once the stream has ended. */
  measures(): Measures {
    const { bytes, sha256 } = this.#snapshot;
    // An object stored unchanged is hashed only once.
    const { bytes: storedBytes, sha256: storedSha256 } = this.#isPlain ? this.#snapshot : this.#stored;
    return { bytes, sha256, storedBytes, storedSha256 };
  }

  get #isPlain(): boolean {
    return this.#packing.compression === "None" && this.#packing.key === undefined;
  }
}

/**
 * The snapshot in an object, as etcd sent it. It must not be used before the stream has ended: only then is it
 * verified.
 * @param source the bytes of the object
 * @param expected sizes and hashes in the manifest
 * @param snapshot measures the result
 * @throws AgentError SnapshotCorrupt when the object has changed, BadKey when it was encrypted with another key
 */
export async function* unpacked(
  source: Bytes,
  packing: Packing,
  expected: Measures,
  snapshot = new SnapshotCheck(),
): AsyncGenerator<Uint8Array, void> {
  const stored = new Tally();
  let bytes: Bytes = stored.pass(atMost(source, expected.storedBytes));
  if (packing.key !== undefined) bytes = decrypted(bytes, packing.key);
  if (packing.compression === "Zstd") bytes = decompressed(bytes);
  yield* snapshot.pass(atMost(bytes, expected.bytes));
  checkSame("bytes of the object", stored.bytes, expected.storedBytes);
  checkSame("SHA-256 of the object", stored.sha256, expected.storedSha256);
  checkSame("bytes of the snapshot", snapshot.bytes, expected.bytes);
  checkSame("SHA-256 of the snapshot", snapshot.sha256, expected.sha256);
}

/** Limits the stream: a wrong object may be endless, or decompress without end. */
async function* atMost(source: Bytes, bytes: number): AsyncGenerator<Uint8Array, void> {
  let passed = 0;
  for await (const chunk of source) {
    passed += chunk.length;
    if (passed > bytes)
      throw new AgentError("SnapshotCorrupt", `there are more than the ${bytes} bytes that its manifest has`);
    yield chunk;
  }
}

function checkSame(what: string, is: number | string, expected: number | string): void {
  if (is === expected) return;
  throw new AgentError("SnapshotCorrupt", `the ${what} are ${is}, and its manifest has ${expected}`);
}
