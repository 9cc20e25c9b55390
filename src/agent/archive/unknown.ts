import { AgentError } from "../error.ts";
import type { Bytes } from "./bytes.ts";
import type { SnapshotCheck } from "./integrity.ts";
import type { EncryptionKey } from "./key.ts";
import { decrypted, isEncrypted } from "./seal.ts";
import { decompressed, isCompressed } from "./zstd.ts";

/**
 * The snapshot in an object that has no manifest: some other tool's, or one of ours that has lost it. How it is packed is told by how it
 * begins, and whether it is whole by etcd's own checksum alone. Nobody may use it before its end has come.
 * @param key undefined: an encrypted object is refused; else one that is not, since somebody may have put it there instead
 * @throws AgentError SnapshotCorrupt, BadKey
 */
export async function* unpackedByLooks(source: Bytes, key: EncryptionKey | undefined, check: SnapshotCheck) {
  const object = await looked(source);
  const refusal = refusalOf(isEncrypted(object.beginning), key);
  if (refusal !== undefined) {
    await object.end();
    throw refusal;
  }
  const inner = key === undefined ? object : await looked(decrypted(object.all, key));
  yield* check.pass(isCompressed(inner.beginning) ? decompressed(inner.all) : inner.all);
}

/** Whether the key at hand and the object belong together. @param keyID of the object, where it is known */
export function refusalOf(encrypted: boolean, key: EncryptionKey | undefined, keyID?: string): AgentError | undefined {
  if (encrypted === (key !== undefined) && (keyID === undefined || keyID === key?.id)) return undefined;
  const message = !encrypted
    ? "it is not encrypted, and a key is given: was it put there instead of one that is? Without a key it is taken"
    : `it is encrypted${keyID === undefined ? "" : ` with the key ${keyID}`}, and ${key === undefined ? "no key is given" : `the key at hand is ${key.id}`}`;
  return new AgentError("BadKey", `the snapshot cannot be read: ${message}`);
}

/** More than any of the formats needs to be told apart. */
const BEGINNING_BYTES = 16;

/** How a stream begins, and all of it. */
export async function looked(source: Bytes) {
  const chunks = source[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes < BEGINNING_BYTES; ) {
    const next = await chunks.next();
    if (next.done) break;
    // A copy: the chunk is somebody else's as soon as the next one is asked for.
    read.push(Buffer.from(next.value));
    bytes += next.value.length;
  }
  async function* all(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* read;
      yield* { [Symbol.asyncIterator]: () => chunks };
    } finally {
      await chunks.return?.();
    }
  }
  return { beginning: Buffer.concat(read), all: all(), end: async () => await chunks.return?.() };
}
