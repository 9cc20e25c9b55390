import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AgentError } from "../error.ts";
import { WORK_DIR_PREFIX } from "../task.ts";

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

// What if two pods work on one volume?
//   A Job makes another pod while the last one, told to stop, still ends; and one that waits for a disk ends when the disk does. So nothing
//   is deleted, or moved to where etcd looks, under a name that somebody else may use: it first gets a name of its own, in one step. Who
//   comes too late finds nothing there, and fails.

/** What former attempts have left is deleted. The directory above it must be there: it is where a volume is mounted. */
export async function makeWorkDir(path: string): Promise<void> {
  await onDisk(path, async () => {
    const parent = dirname(path);
    const names = (await readdir(parent)).filter((name) => name.startsWith(WORK_DIR_PREFIX));
    for (const name of names) await removeAtOnce(join(parent, name));
    await mkdir(path, { mode: 0o700 });
  });
}

export async function removeWorkDir(path: string): Promise<void> {
  await onDisk(path, () => removeAtOnce(path));
}

async function removeAtOnce(path: string): Promise<void> {
  const own = ownNameFor(path);
  await rename(path, own).catch(absent);
  await rm(own, { recursive: true, force: true });
}

/** Beside it, and deleted with what former attempts have left. */
export function ownNameFor(path: string): string {
  return join(dirname(path), `${WORK_DIR_PREFIX}${randomUUID()}`);
}

/** For `catch`: undefined when it is not there. */
export function absent(thrown: unknown): undefined {
  if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
  throw thrown;
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
