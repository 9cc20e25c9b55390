import { createGunzip } from "node:zlib";
import { type Bytes, through } from "./bytes.ts";
import { asCorrupt } from "./zstd.ts";

// Other tools compress their snapshots with gzip. The agent reads them, and writes none.

/** Magic number, RFC 1952, 2.3.1; no database begins with it. */
const MAGIC = 0x8b1f;

/** Whether a file with this beginning is compressed with gzip. */
export function isGzip(beginning: Buffer): boolean {
  return beginning.length >= 2 && beginning.readUInt16LE() === MAGIC;
}

/** @throws AgentError SnapshotCorrupt when it is cut off or damaged */
export async function* gunzipped(source: Bytes): AsyncGenerator<Uint8Array, void> {
  try {
    yield* through(source, createGunzip());
  } catch (thrown) {
    throw asCorrupt(thrown);
  }
}
