/** Meta page at the beginning of a bbolt database. There are two; transactions write them alternately. */
export interface Meta {
  readonly pageBytes: number;
  /** Number of the root bucket's page. */
  readonly root: number;
}

/** Header of every page. */
export const PAGE_HEADER_BYTES = 16;

const META_BYTES = 64;
const MAGIC = 0xed0cdaed;
const VERSION = 2;
/** Offset of each field. Numbers are little-endian, as on every platform of etcd except s390x. */
const AT = { magic: 0, version: 4, pageBytes: 8, root: 16, transaction: 48, checksum: 56 };

/**
 * 1 KiB to 16 MiB, the sizes at which bbolt looks for the second meta page. The page size is that of the machine that
 * made the file: 4 KiB or 64 KiB.
 */
const PAGE_SIZES = Array.from({ length: 15 }, (_, power) => 1024 << power);

/** The newest valid meta page; undefined when neither is valid. @param read rejects beyond the end of the file */
export async function metaIn(read: (at: number, bytes: number) => Promise<Buffer>): Promise<Meta | undefined> {
  const first = await metaAt(0, read);
  const sizes = first === undefined ? PAGE_SIZES : [first.pageBytes];
  for (const size of sizes) {
    const second = await metaAt(size, read);
    if (second?.pageBytes !== size) continue;
    return first === undefined || second.transaction > first.transaction ? second : first;
  }
  return first;
}

async function metaAt(at: number, read: (at: number, bytes: number) => Promise<Buffer>) {
  const bytes = await read(at + PAGE_HEADER_BYTES, META_BYTES).catch(() => undefined); // the file is shorter
  if (bytes?.readUInt32LE(AT.magic) !== MAGIC || bytes.readUInt32LE(AT.version) !== VERSION) return undefined;
  if (fnv1a(bytes.subarray(0, AT.checksum)) !== bytes.readBigUInt64LE(AT.checksum)) return undefined;
  return {
    pageBytes: bytes.readUInt32LE(AT.pageBytes),
    root: Number(bytes.readBigUInt64LE(AT.root)),
    transaction: bytes.readBigUInt64LE(AT.transaction),
  };
}

/** FNV-1a of 64 bits, as in Go's hash/fnv. */
function fnv1a(bytes: Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
