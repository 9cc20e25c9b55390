import { mkdir, rm, statfs } from "node:fs/promises";
import { AgentError } from "../error.ts";

/** @throws AgentError NoSpace, and Internal for all else, which names the path */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof Error && "syscall" in thrown && "code" in thrown)) throw thrown;
    const isFull = thrown.code === "ENOSPC" || thrown.code === "EDQUOT";
    throw new AgentError(isFull ? "NoSpace" : "Internal", `${path}: ${thrown.message}`, { cause: thrown });
  }
}

/** What a former attempt has left is deleted. The directory above it must be there: it is where a volume is mounted. */
export async function makeWorkDir(path: string): Promise<void> {
  await onDisk(path, async () => {
    await rm(path, { recursive: true, force: true });
    await mkdir(path, { mode: 0o700 });
  });
}

export async function removeWorkDir(path: string): Promise<void> {
  await onDisk(path, () => rm(path, { recursive: true, force: true }));
}

/** How much may be written to a volume. */
export class Room {
  readonly #path: string;
  readonly #freeBytes: number;
  readonly #reservedBytes: number | undefined;

  private constructor(path: string, freeBytes: number, reservedBytes: number | undefined) {
    this.#path = path;
    this.#freeBytes = freeBytes;
    this.#reservedBytes = reservedBytes;
  }

  /** @param reservedBytes what must be left in the end; undefined: as much as is written */
  static async on(path: string, reservedBytes: number | undefined): Promise<Room> {
    const { bavail, bsize } = await onDisk(path, () => statfs(path));
    return new Room(path, bavail * bsize, reservedBytes);
  }

  /** @param bytes to be written in all @throws AgentError NoSpace */
  check(bytes: number): void {
    const reserved = this.#reservedBytes ?? bytes;
    if (bytes + reserved <= this.#freeBytes) return;
    throw new AgentError(
      "NoSpace",
      `the volume of ${this.#path} has ${this.#freeBytes} bytes free; it takes ${bytes + reserved}: ${bytes} for the snapshot and ${reserved} for what is made of it`,
    );
  }
}
