import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AgentError } from "../error.ts";
import { WORK_DIR_PREFIX } from "../task.ts";

/** @throws AgentError NoSpace, or Internal naming the path */
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
//   A Job creates a new pod while the previous one is still ending. A pod that waits for a disk ends when the disk
//   answers. So a directory that another pod may use is first renamed to a unique name, and only then deleted or moved.
//   The later pod does not find it, and fails.

/**
 * Creates the work directory, and deletes those of earlier attempts. Its parent must exist: the mount point of the
 * volume.
 */
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

/** A unique path beside the directory; a later attempt deletes what is left there. */
export function ownNameFor(path: string): string {
  return join(dirname(path), `${WORK_DIR_PREFIX}${randomUUID()}`);
}

/** For `catch`: undefined when the file does not exist. */
export function absent(thrown: unknown): undefined {
  if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
  throw thrown;
}

/** Free space on a volume. */
export class Room {
  readonly #path: string;
  readonly #freeBytes: number;
  readonly #reservedBytes: number | undefined;

  private constructor(path: string, freeBytes: number, reservedBytes: number | undefined) {
    this.#path = path;
    this.#freeBytes = freeBytes;
    this.#reservedBytes = reservedBytes;
  }

  /** @param reservedBytes bytes that must stay free at the end; undefined: as many as are written */
  static async on(path: string, reservedBytes: number | undefined): Promise<Room> {
    const { bavail, bsize } = await onDisk(path, () => statfs(path));
    return new Room(path, bavail * bsize, reservedBytes);
  }

  /** @param bytes total to be written @throws AgentError NoSpace */
  check(bytes: number): void {
    const reserved = this.#reservedBytes ?? bytes;
    if (bytes + reserved <= this.#freeBytes) return;
    throw new AgentError(
      "NoSpace",
      `the volume of ${this.#path} has ${this.#freeBytes} bytes free; ${bytes + reserved} are needed: ${bytes} for the snapshot and ${reserved} for what is made of it`,
    );
  }
}
