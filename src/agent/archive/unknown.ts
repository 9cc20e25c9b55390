import { AgentError } from "../error.ts";
import type { Bytes } from "./bytes.ts";
import { gunzipped, isGzip } from "./gzip.ts";
import type { SnapshotCheck } from "./integrity.ts";
import type { EncryptionKey } from "./key.ts";
import { decrypted, isEncrypted } from "./seal.ts";
import { decompressed, isCompressed } from "./zstd.ts";

/**
 * The snapshot in an object without a manifest: from another tool, or with its manifest lost. Its first bytes determine
 * the format, and only etcd's own checksum verifies it. It must not be used before the stream has ended.
 * @param key undefined: an encrypted object is refused. Defined: an unencrypted object is refused, since an attacker
 * may have replaced the object
 * @throws AgentError SnapshotCorrupt, BadKey
 */
export async function* unpackedByLooks(source: Bytes, key: EncryptionKey | undefined, check: SnapshotCheck) {
  yield* check.pass(unzipped(await looked(await decryptedByLooks(source, key))));
}

/**
 * The content of an object: decrypted if there is a key, for others as it is. Its first bytes determine whether it is
 * encrypted.
 * @param key see `unpackedByLooks`
 * @throws AgentError BadKey
 */
export async function decryptedByLooks(source: Bytes, key: EncryptionKey | undefined): Promise<Bytes> {
  const object = await looked(source);
  const refusal = refusalOf(isEncrypted(object.beginning), key);
  if (refusal !== undefined) {
    await object.end();
    throw refusal;
  }
  return key === undefined ? object.all : decrypted(object.all, key);
}

function unzipped({ beginning, all }: { readonly beginning: Buffer; readonly all: Bytes }): Bytes {
  if (isCompressed(beginning)) return decompressed(all);
  return isGzip(beginning) ? gunzipped(all) : all;
}

/** Error when the given key does not fit the object. @param keyID key ID of the object, where it is known */
export function refusalOf(encrypted: boolean, key: EncryptionKey | undefined, keyID?: string): AgentError | undefined {
  if (encrypted === (key !== undefined) && (keyID === undefined || keyID === key?.id)) return undefined;
  const message = !encrypted
    ? "it is not encrypted, but a key is given: the object may have been replaced. To restore it nevertheless, give no key"
    : `it is encrypted${keyID === undefined ? "" : ` with the key ${keyID}`}, but ${key === undefined ? "no key is given" : `the given key is ${key.id}`}`;
  return new AgentError("BadKey", `the snapshot cannot be read: ${message}`);
}

/** More than any of the formats needs to be recognized. */
const BEGINNING_BYTES = 16;

/** The first bytes of a stream, and the whole stream. */
async function looked(source: Bytes) {
  const chunks = source[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  for (let bytes = 0; bytes < BEGINNING_BYTES; ) {
    const next = await chunks.next();
    if (next.done) break;
    // A copy: the source may reuse the chunk when the next is requested.
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
