import { constants, createZstdCompress, createZstdDecompress, type ZstdCompress } from "node:zlib";
import { AgentError } from "../error.ts";
import { type Bytes, through } from "./bytes.ts";

/** zstd's own default. A database of small JSON values shrinks to a quarter or less; a higher level costs more CPU than it saves bytes. */
const LEVEL = 3;

/** 2 MiB, what zstd takes by itself for this level; written down because it is memory, on both sides. */
const WINDOW_LOG = 21;

/** 8 MiB: the most that a reader holds for us. Frames of other tools may ask for more when they were made with `--long`. */
const MAX_WINDOW_LOG = 23;

/** RFC 8878, 3.1.1; no database begins like this. */
const MAGIC = 0xfd2fb528;

/** Whether a file that begins like this is a zstd frame. */
export function isCompressed(beginning: Buffer): boolean {
  return beginning.length >= 4 && beginning.readUInt32LE() === MAGIC;
}

/** Makes one zstd frame with a checksum, as `zstd -d` reads it. */
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

/** @throws AgentError SnapshotCorrupt when it is no whole zstd frame, or one that wants more memory than 8 MiB */
export async function* decompressed(source: Bytes): AsyncGenerator<Uint8Array, void> {
  const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG };
  try {
    yield* through(source, createZstdDecompress({ params }));
  } catch (thrown) {
    if (!isZstdError(thrown)) throw thrown;
    throw new AgentError("SnapshotCorrupt", `it cannot be decompressed: ${thrown.message}`, { cause: thrown });
  }
}

function isZstdError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && "code" in thrown && /^(ZSTD_|Z_)/.test(String(thrown.code));
}
