import { closeSync, openSync, readSync } from "node:fs";
import { Failure } from "./failure.ts";
import type { Architecture } from "./image.ts";

/** What the headers of a Linux program or library state. */
export interface Elf {
  readonly architecture: Architecture;
  /** Absolute path of the loader that starts the program; libraries have none. */
  readonly interpreter?: string;
  /** Names of the shared libraries that the loader must find. */
  readonly needed: readonly string[];
}

// Numbers and offsets for 64 bits and little-endian: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const MACHINES = new Map<number, Architecture>([
  [62, "amd64"],
  [183, "arm64"],
]);
const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;
const DT_STRSZ = 10n;

/**
 * Reads the headers of a program or library.
 * @throws Failure when the file is no ELF file for one of our architectures
 */
export function readElf(path: string): Elf {
  const file = openSync(path, "r");
  try {
    return headersOf(path, (offset, size) => {
      const bytes = Buffer.alloc(Number(size));
      readSync(file, bytes, 0, bytes.length, Number(offset));
      return bytes;
    });
  } finally {
    closeSync(file);
  }
}

type Read = (offset: bigint | number, size: bigint | number) => Buffer;

function headersOf(path: string, read: Read): Elf {
  const head = read(0, 64);
  const architecture = MACHINES.get(head.readUInt16LE(18));
  if (!head.subarray(0, MAGIC.length).equals(MAGIC) || architecture === undefined)
    throw new Failure(`${path} is no ELF file for amd64 or arm64.`);
  const segments = segmentsIn(read(head.readBigUInt64LE(32), head.readUInt16LE(54) * head.readUInt16LE(56)));
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  return {
    architecture,
    ...(interpreter === undefined ? {} : { interpreter: textAt(read(interpreter.offset, interpreter.size), 0) }),
    needed: dynamic === undefined ? [] : neededIn(read(dynamic.offset, dynamic.size), segments, read),
  };
}

interface Segment {
  readonly type: number;
  readonly offset: bigint;
  /** Address in memory, by which entries of the dynamic section refer to tables. */
  readonly address: bigint;
  readonly size: bigint;
}

function segmentsIn(table: Buffer): readonly Segment[] {
  return Array.from({ length: table.length / 56 }, (_, index) => ({
    type: table.readUInt32LE(index * 56),
    offset: table.readBigUInt64LE(index * 56 + 8),
    address: table.readBigUInt64LE(index * 56 + 16),
    size: table.readBigUInt64LE(index * 56 + 32),
  }));
}

function neededIn(dynamic: Buffer, segments: readonly Segment[], read: Read): readonly string[] {
  const entries = Array.from({ length: dynamic.length / 16 }, (_, index) => ({
    tag: dynamic.readBigUInt64LE(index * 16),
    value: dynamic.readBigUInt64LE(index * 16 + 8),
  }));
  const entryOf = (wanted: bigint) => entries.find(({ tag }) => tag === wanted)?.value ?? 0n;
  const address = entryOf(DT_STRTAB);
  const loaded = segments.find(
    (each) => each.type === PT_LOAD && address >= each.address && address < each.address + each.size,
  );
  const names = read(address - (loaded?.address ?? 0n) + (loaded?.offset ?? 0n), entryOf(DT_STRSZ));
  return entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => textAt(names, Number(value)));
}

/** Text that ends with a zero byte. */
function textAt(bytes: Buffer, start: number): string {
  return bytes.toString("latin1", start, bytes.indexOf(0, start));
}
