import { constants, createZstdCompress, createZstdDecompress, type ZstdCompress } from "node:zlib";
import { AgentError } from "../error.ts";
import { type Bytes, through } from "./bytes.ts";

/**
 * Default level of zstd. A database of small JSON values shrinks to a quarter or less; higher levels cost more CPU than
 * they save bytes.
 */
const LEVEL = 3;

/** 2 MiB, zstd's default for this level; explicit, because writer and reader both need that much memory. */
const WINDOW_LOG = 21;

/** 8 MiB: the most memory that a reader provides. Frames made with `--long` by other tools may need more. */
const MAX_WINDOW_LOG = 23;

/** Magic number, RFC 8878, 3.1.1; no database begins with it. */
const MAGIC = 0xfd2fb528;

/** Whether a file with this beginning is a zstd frame. */
export function isCompressed(beginning: Buffer): boolean {
  return beginning.length >= 4 && beginning.readUInt32LE() === MAGIC;
}

/** Writes one zstd frame with a checksum, readable by `zstd -d`. */
export function newCompressor(): ZstdCompress {
  const params = {
    [constants.ZSTD_c_compressionLevel]: LEVEL,
    [constants.ZSTD_c_windowLog]: WINDOW_LOG,
    [constants.ZSTD_c_checksumFlag]: 1,
  };
  return createZstdCompress({ params });
}

export function compressed(source: Bytes): AsyncGenerator<Uint8Array, void> {
  return through(source, newCompressor());
}

/** @throws AgentError SnapshotCorrupt when it is no complete zstd frame, or needs more than 8 MiB of memory */
export async function* decompressed(source: Bytes): AsyncGenerator<Uint8Array, void> {
  const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
  try {
    yield* through(source, createZstdDecompress({ params }));
  } catch (thrown) {
    throw asCorrupt(thrown);
  }
}

/** An error of node:zlib as the agent reports it; other errors as they are. */
export function asCorrupt(thrown: unknown): unknown {
  const isOfZlib = thrown instanceof Error && "code" in thrown && /^(ZSTD_|Z_)/.test(String(thrown.code));
  return isOfZlib
    ? new AgentError("SnapshotCorrupt", `it cannot be decompressed: ${thrown.message}`, { cause: thrown })
    : thrown;
}
