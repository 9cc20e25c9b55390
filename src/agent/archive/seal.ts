import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { AgentError } from "../error.ts";
import { type Bytes, inPieces } from "./bytes.ts";
import type { EncryptionKey } from "./key.ts";

// How is a snapshot encrypted?
//   A header, then chunks of 64 KiB, each AES-256-GCM with its tag appended. This is the STREAM construction (Hoang,
//   Reyhanitabar, Rogaway, Vizár 2015; also in age and Tink). The nonce of a chunk contains its number and whether it
//   is the last. So changing, moving, repeating, omitting or truncating chunks is detected, and each chunk is verified
//   before the next is read.
// Why a key for each object?
//   GCM is insecure when a nonce repeats under one key. A salt per object gives each object its own key, and its chunks
//   are numbered.
// Why does the header have the key's ID?
//   To detect a wrong key as such. The ID is 32 bits of a hash of 256 random bits and reveals nothing.

const MAGIC = Buffer.from("ECOSNAP1", "latin1");
const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const KEY_CONTEXT = "etcd-cluster-operator snapshot";
/** Offset of each header field; numbers are big-endian. */
const AT = { chunkBytes: 8, keyID: 12, salt: 16, noncePrefix: 48, end: 55 };
const NONCE = { bytes: 12, counterAt: 7, lastAt: 11 };

/** Name of the algorithm in a manifest. */
export const ALGORITHM = "AES-256-GCM-STREAM";

export async function* encrypted(source: Bytes, key: EncryptionKey): AsyncGenerator<Uint8Array, void> {
  const header = headerFor(key);
  const fileKey = fileKeyOf(key, header);
  yield header;
  let counter = 0;
  for await (const { bytes, last } of inPieces(source, () => CHUNK_BYTES)) {
    const cipher = createCipheriv("aes-256-gcm", fileKey, nonceOf(header, counter++, last)).setAAD(header);
    const text = cipher.update(bytes);
    cipher.final();
    yield text;
    yield cipher.getAuthTag();
  }
}

/**
 * Reverses `encrypted`. Only authentic chunks are yielded; the result must not be used before the stream has ended.
 * @throws AgentError BadKey when it was encrypted with another key, SnapshotCorrupt for any other defect
 */
export async function* decrypted(source: Bytes, key: EncryptionKey): AsyncGenerator<Uint8Array, void> {
  let opening: { readonly header: Buffer; readonly fileKey: Uint8Array } | undefined;
  let counter = 0;
  for await (const { bytes, last } of inPieces(source, (index) => (index === 0 ? AT.end : CHUNK_BYTES + TAG_BYTES))) {
    if (opening === undefined) {
      checkHeader(bytes, last, key);
      opening = { header: bytes, fileKey: fileKeyOf(key, bytes) };
      continue;
    }
    yield decryptedChunk(bytes, opening.fileKey, opening.header, nonceOf(opening.header, counter++, last));
  }
}

/** Whether an object with this beginning is in our encrypted format. */
export function isEncrypted(beginning: Buffer): boolean {
  return beginning.subarray(0, MAGIC.length).equals(MAGIC);
}

function decryptedChunk(bytes: Buffer, fileKey: Uint8Array, header: Buffer, nonce: Buffer): Buffer {
  const chunk = nonce.readUInt32BE(NONCE.counterAt);
  if (bytes.length < TAG_BYTES) throw corrupt(`it is cut off in chunk ${chunk}`);
  const decipher = createDecipheriv("aes-256-gcm", fileKey, nonce, { authTagLength: TAG_BYTES }).setAAD(header);
  const text = decipher.update(bytes.subarray(0, -TAG_BYTES));
  try {
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES)).final();
  } catch (thrown) {
    const last = nonce[NONCE.lastAt] === 1;
    const how = last ? "it was changed or moved, or the rest of the object is cut off" : "it was changed or moved";
    throw corrupt(`chunk ${chunk} is not what was encrypted: ${how}`, thrown);
  }
  return text;
}

function headerFor(key: EncryptionKey): Buffer {
  const header = Buffer.alloc(AT.end);
  MAGIC.copy(header);
  header.writeUInt32BE(CHUNK_BYTES, AT.chunkBytes);
  header.write(key.id, AT.keyID, "hex");
  randomBytes(AT.end - AT.salt).copy(header, AT.salt);
  return header;
}

function checkHeader(header: Buffer, last: boolean, key: EncryptionKey): void {
  if (last) throw corrupt(`it ends after ${header.length} bytes, inside or right after its header`);
  if (!isEncrypted(header)) throw corrupt("it does not begin like an encrypted snapshot");
  const chunkBytes = header.readUInt32BE(AT.chunkBytes);
  if (chunkBytes !== CHUNK_BYTES)
    throw corrupt(`its header has a chunk size of ${chunkBytes} bytes; it must be ${CHUNK_BYTES}`);
  const keyID = header.toString("hex", AT.keyID, AT.salt);
  if (keyID !== key.id) {
    throw new AgentError("BadKey", `the snapshot was encrypted with the key ${keyID}, but the given key is ${key.id}`);
  }
}

function fileKeyOf(key: EncryptionKey, header: Buffer): Uint8Array {
  return new Uint8Array(
    hkdfSync("sha256", key.bytes, header.subarray(AT.salt, AT.noncePrefix), KEY_CONTEXT, KEY_BYTES),
  );
}

function nonceOf(header: Buffer, counter: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE.bytes);
  header.copy(nonce, 0, AT.noncePrefix, AT.end);
  nonce.writeUInt32BE(counter, NONCE.counterAt); // 2^32 chunks are 256 TiB; more is a RangeError.
  nonce[NONCE.lastAt] = last ? 1 : 0;
  return nonce;
}

function corrupt(message: string, cause?: unknown): AgentError {
  return new AgentError("SnapshotCorrupt", `the encrypted snapshot is not intact: ${message}`, { cause });
}
