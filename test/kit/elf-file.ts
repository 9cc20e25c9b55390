/** Smallest program or library that has a loader and needs libraries. @param machine 62: amd64, 183: arm64 */
export function elfFile(machine: number, needed: readonly string[], interpreter?: string): Buffer {
  const names = Buffer.from(["", ...needed, ""].join("\0"));
  const loader = Buffer.from(`${interpreter ?? ""}\0`);
  const offsets = needed.map((name) => names.indexOf(`\0${name}\0`) + 1);
  const namesAt = 64 + 3 * 56;
  const loaderAt = namesAt + names.length;
  const dynamicAt = loaderAt + loader.length;
  // Tables are at other addresses in memory than in the file.
  const memory = 0x10000;
  const entries = [...offsets.map((offset) => [1, offset]), [5, memory + namesAt], [10, names.length], [0, 0]];
  const dynamic = words(entries.flat());
  const segments = [
    segment(1, 0, memory, dynamicAt + dynamic.length),
    segment(2, dynamicAt, memory + dynamicAt, dynamic.length),
    ...(interpreter === undefined ? [segment(0, 0, 0, 0)] : [segment(3, loaderAt, memory + loaderAt, loader.length)]),
  ];
  const head = Buffer.alloc(64);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]).copy(head);
  head.writeUInt16LE(machine, 18);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(segments.length, 56);
  return Buffer.concat([head, ...segments, names, loader, dynamic]);
}

function segment(type: number, offset: number, address: number, size: number): Buffer {
  const bytes = Buffer.alloc(56);
  bytes.writeUInt32LE(type, 0);
  words([offset, address, address, size, size]).copy(bytes, 8);
  return bytes;
}

function words(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 8);
  for (const [index, number] of numbers.entries()) bytes.writeBigUInt64LE(BigInt(number), index * 8);
  return bytes;
}
