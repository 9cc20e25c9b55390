import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Place } from "./contract.ts";

/** Resident memory of a process that keeps objects, in MB. */
export interface Memory {
  /** With the store's library loaded and used once. */
  readonly baseMb: number;
  /** By how much it grew at most while an object was written, and while it was read. */
  readonly putMb: number;
  readonly getMb: number;
}

/** As in the image (dev/operator-image.ts): little garbage is kept. */
const LEAN = ["--max-semi-space-size=1", "--optimize-for-size"];

/** Writes an object of that size in a process of its own, and reads it back. */
export async function memoryOf(place: Place, mib: number): Promise<Memory> {
  const program = join(import.meta.dirname, "memory-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...LEAN,
    program,
    JSON.stringify(place),
    String(mib),
  ]);
  return JSON.parse(stdout) as Memory;
}
