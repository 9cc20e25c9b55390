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

/** What a manifest says of bytes. */
export type Measures = Pick<Manifest, "bytes" | "sha256" | "storedBytes" | "storedSha256">;

/** A snapshot on its way from etcd to the object: checked, compressed, encrypted. */
export class PackedSnapshot {
  readonly #packing: Packing;
  readonly #snapshot = new SnapshotCheck();
  readonly #stored = new Tally();

  constructor(packing: Packing) {
    this.#packing = packing;
  }

  /** The bytes of the object. @throws AgentError SnapshotCorrupt; whatever `source` throws */
  pass(source: Bytes): AsyncGenerator<Uint8Array, void> {
    const { compression, key } = this.#packing;
    let bytes = this.#snapshot.pass(source);
    if (this.#isPlain) return bytes;
    if (compression === "Zstd") bytes = compressed(bytes);
    if (key !== undefined) bytes = encrypted(bytes, key);
    return this.#stored.pass(bytes);
  }

  /** So far. */
  get bytesRead(): number {
    return this.#snapshot.bytes;
  }

  /** Only when everything has passed. */
  measures(): Measures {
    const { bytes, sha256 } = this.#snapshot;
    // What is stored as it came is not hashed twice.
    const { bytes: storedBytes, sha256: storedSha256 } = this.#isPlain ? this.#snapshot : this.#stored;
    return { bytes, sha256, storedBytes, storedSha256 };
  }

  get #isPlain(): boolean {
    return this.#packing.compression === "None" && this.#packing.key === undefined;
  }
}

/**
 * The snapshot in an object, as etcd sent it. Nobody may use it before its end has come: only then everything is known to be right.
 * @param source the bytes of the object
 * @param expected what the manifest says
 * @param snapshot tells afterwards what came
 * @throws AgentError SnapshotCorrupt when it is not what was stored, BadKey when the key is not the one it was encrypted with
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

/** A wrong object may be endless, or grow without end when it is decompressed. */
async function* atMost(source: Bytes, bytes: number): AsyncGenerator<Uint8Array, void> {
  let passed = 0;
  for await (const chunk of source) {
    passed += chunk.length;
    if (passed > bytes)
      throw new AgentError("SnapshotCorrupt", `there are more than the ${bytes} bytes that its manifest tells`);
    yield chunk;
  }
}

function checkSame(what: string, is: number | string, expected: number | string): void {
  if (is === expected) return;
  throw new AgentError("SnapshotCorrupt", `the ${what} are ${is}, and its manifest says ${expected}`);
}
