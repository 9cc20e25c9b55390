import { randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { StoreError } from "./error.ts";
import type { Part } from "./parts.ts";
import { type Requests, sendMs } from "./patience.ts";
import type { Writer } from "./put.ts";
import type { Metadata } from "./store.ts";
import { codeOf } from "./volume-error.ts";

// How does a file appear completely, without replacing another?
//   It is written under a temporary name and synced. Then link(2) gives it its name, and fails when the name exists;
//   rename(2) would replace the other file. The name is durable once the folder is synced.
// Where is its metadata?
//   In a file named after the object's inode number, written before the object gets its name. Two writers of one key
//   have two inodes; with a name derived from the key the wrong metadata could stay. The file contains the key: in a
//   copy of the volume the number belongs to another file.
// What about the temporary files of a killed process?
//   A later writer deletes those without writes for a long time. If its owner still lives, it fails.

/** Folder beside the objects, not an object itself. */
export const OWN_FOLDER = ".objectstore";
const INCOMPLETE = join(OWN_FOLDER, "incomplete");
const METADATA = join(OWN_FOLDER, "metadata");
/** Field in the metadata file, not in the object's metadata: the key. */
export const METADATA_KEY = "objectstore-key";

/**
 * Age after which a temporary file counts as abandoned, in milliseconds: far longer than a writer may make no progress.
 * If smaller, files being written are deleted.
 */
const LEFT_BEHIND_MS = 15 * 60_000;

const PART_BYTES = 1024 ** 2;

/** Path of the metadata of the file with this inode. */
export function metadataFile(root: string, ino: number): string {
  return join(root, METADATA, `${ino}.json`);
}

/** Writes an object into a directory. */
export class VolumeWriter implements Writer {
  readonly parallel = 1;
  readonly partBytes = PART_BYTES;
  readonly putID: Writer["putID"];
  readonly remove: Writer["remove"];
  readonly #root: string;
  readonly #key: string;
  readonly #metadata: Metadata;
  readonly #requests: Requests;
  readonly #what: string;
  readonly #incomplete: string;
  #file: FileHandle | undefined;

  constructor(
    root: string,
    key: string,
    metadata: Metadata,
    requests: Requests,
    what: string,
    there: Pick<Writer, "putID" | "remove">,
  ) {
    this.#root = root;
    this.#key = key;
    this.#metadata = metadata;
    this.#requests = requests;
    this.#what = what;
    this.#incomplete = join(root, INCOMPLETE, randomUUID());
    this.putID = there.putID;
    this.remove = there.remove;
  }

  async whole(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    try {
      await this.begin(signal);
      await this.part({ index: 0, offset: 0, bytes, isLast: true, release: () => {} }, signal);
      await this.commit(signal);
    } catch (thrown) {
      await this.abandon(AbortSignal.timeout(this.#requests.patience.cleanUpMs)).catch(() => {}); // The first error is more informative.
      throw thrown;
    }
  }

  async begin(signal: AbortSignal): Promise<void> {
    await this.#once(this.#requests.patience.answerMs, signal, async () => {
      const root = await stat(this.#root).catch(() => undefined);
      if (!root?.isDirectory()) {
        throw new StoreError("NoSuchBucket", `${this.#what}: ${this.#root} is not an existing directory`);
      }
      for (const folder of [OWN_FOLDER, INCOMPLETE, METADATA]) await makeFolder(join(this.#root, folder));
      await this.#sweep();
      this.#file = await open(this.#incomplete, "wx");
    });
  }

  async part({ bytes, offset }: Part, signal: AbortSignal): Promise<void> {
    // Never retried: a write that hangs and continues later would use the buffer's new content.
    await this.#once(sendMs(this.#requests.patience, bytes.length), signal, async () => {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await this.#opened().write(bytes, at, bytes.length - at, offset + at);
        at += bytesWritten;
      }
    });
  }

  async commit(signal: AbortSignal): Promise<void> {
    await this.#once(this.#requests.patience.commitMs, signal, async () => {
      const file = this.#opened();
      await file.sync();
      const { ino } = await file.stat();
      await writeSynced(
        metadataFile(this.#root, ino),
        JSON.stringify({ ...this.#metadata, [METADATA_KEY]: this.#key }),
      );
      await sync(join(this.#root, METADATA));
      const path = join(this.#root, this.#key);
      await this.#makeFoldersOf(this.#key);
      await link(this.#incomplete, path);
      await sync(dirname(path));
      await unlink(this.#incomplete);
      await file.close();
      this.#file = undefined;
    });
  }

  async abandon(signal: AbortSignal): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    await this.#once(this.#requests.patience.answerMs, signal, async () => {
      await unlinkIfThere(this.#incomplete);
      // A file that has its name is an object, which `remove` deletes. Its inode is not reused before the file is
      // closed.
      const { ino, nlink } = await file.stat();
      if (nlink === 0) await unlinkIfThere(metadataFile(this.#root, ino));
      await file.close();
    });
  }

  async #makeFoldersOf(key: string): Promise<void> {
    const names = key.split("/").slice(0, -1);
    for (let depth = 1; depth <= names.length; depth++) {
      await makeFolder(join(this.#root, ...names.slice(0, depth)));
    }
  }

  async #sweep(): Promise<void> {
    const folder = join(this.#root, INCOMPLETE);
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const left = await stat(path).catch(() => undefined); // Another writer was faster.
      if (left === undefined || systemClock.wallMs() - left.mtimeMs < LEFT_BEHIND_MS) continue;
      if (left.nlink === 1) await unlinkIfThere(metadataFile(this.#root, left.ino));
      await unlinkIfThere(path);
    }
  }

  #opened(): FileHandle {
    if (this.#file === undefined) throw new StoreError("Aborted", `${this.#what}: it has ended`);
    return this.#file;
  }

  #once(deadlineMs: number, signal: AbortSignal, attempt: () => Promise<void>): Promise<void> {
    return this.#requests.once(this.#what, deadlineMs, signal, attempt);
  }
}

/** Creates a folder that survives a power failure. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return;
    throw thrown;
  }
  await sync(dirname(path));
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function sync(folder: string): Promise<void> {
  const file = await open(folder);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((thrown) => {
    if (codeOf(thrown) !== "ENOENT") throw thrown;
  });
}
