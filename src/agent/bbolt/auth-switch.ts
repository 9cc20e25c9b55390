import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { AgentError } from "../error.ts";
import { BboltFile } from "./bbolt-file.ts";

// Why is authentication switched in the file?
//   A throw-away etcd is used only by its own pod, which has no password. etcd can disable authentication, but only for
//   a logged-in user. The setting is one byte of the database, in a page without a checksum. The checksum after the
//   last page covers the whole file and is updated, since etcdutl verifies it.

/** Size of etcd's SHA-256 after the database. */
const CHECKSUM_BYTES = 32;
const CHUNK_BYTES = 1024 ** 2;

/**
 * Enables or disables authentication in a snapshot; users and roles stay unchanged.
 * @throws AgentError SnapshotCorrupt when the snapshot has no such setting
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
  if (value?.bytes !== 1)
    throw new AgentError("SnapshotCorrupt", `${path} does not record whether authentication is enabled`);
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
