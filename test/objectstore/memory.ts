import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Place } from "./contract.ts";

/** Resident memory of a process that writes and reads objects, in MB. */
export interface Memory {
  /** Memory after the store's library has been loaded and used once. */
  readonly baseMb: number;
  /** Highest growth while an object was written (`putMb`) and while it was read (`getMb`). */
  readonly putMb: number;
  readonly getMb: number;
}

/** Options of the image (dev/operator-image.ts), which keep little garbage. */
const LEAN = ["--max-semi-space-size=1", "--optimize-for-size"];

/** Writes an object of that size in a separate process, and reads it back. */
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
