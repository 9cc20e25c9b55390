import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { AgentError } from "../error.ts";
import { BboltFile } from "./bbolt-file.ts";

// Why is it switched in the file?
//   A throw-away etcd is asked by its own pod alone, and that pod knows no password. etcd switches itself, but only for its users. Whether it asks
//   for them is one byte of its database, in a page without a checksum; behind the last page stands the checksum of all, which etcdutl asks for.

/** etcd's SHA-256 behind the database. */
const CHECKSUM_BYTES = 32;
const CHUNK_BYTES = 1024 ** 2;

/**
 * Whether an etcd that is made of this snapshot asks for users, which stay as they are.
 * @throws AgentError SnapshotCorrupt when the snapshot says nothing of it
 */
export async function switchAuth(path: string, enabled: boolean): Promise<void> {
  const at = await placeOfSwitch(path);
  const file = await open(path, "r+");
  try {
    await file.write(Buffer.from([enabled ? 1 : 0]), 0, 1, at);
    const { size } = await file.stat();
    const checksum = await checksumOf(file, size - CHECKSUM_BYTES);
    await file.write(checksum, 0, CHECKSUM_BYTES, size - CHECKSUM_BYTES);
  } finally {
    await file.close();
  }
}

async function placeOfSwitch(path: string): Promise<number> {
  await using file = await BboltFile.open(path);
  const value = await file.placeOf("auth", "authEnabled");
  if (value?.bytes !== 1) throw new AgentError("SnapshotCorrupt", `${path} does not say whether etcd asks for users`);
  return value.at;
}

async function checksumOf(file: FileHandle, end: number): Promise<Buffer> {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let at = 0; at < end; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, end - at), at);
    if (bytesRead === 0) throw new AgentError("SnapshotCorrupt", `it ends at byte ${at} instead of ${end}`);
    hash.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest();
}
