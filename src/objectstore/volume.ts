import type { Dirent } from "node:fs";
import { open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StoreError } from "./error.ts";
import { translator } from "./failure.ts";
import { checkKey } from "./key.ts";
import type { VolumeLocation } from "./location.ts";
import { type Patience, Requests } from "./patience.ts";
import { PUT_ID, put, putIDOf, withoutPutID } from "./put.ts";
import { type Opened, read } from "./read.ts";
import type { CallOptions, GetOptions, Metadata, ObjectStore, PutOptions, StoredObject } from "./store.ts";
import { codeOf, volumeAnswer } from "./volume-error.ts";
import { METADATA_KEY, metadataFile, OWN_FOLDER, VolumeWriter } from "./volume-writer.ts";

/** Bytes read at once. */
const READ_BYTES = 256 * 1024;

/**
 * A directory in which each object is a file named by its key. Temporary files and metadata are in a hidden folder on
 * the same file system; see volume-writer.ts.
 */
export class VolumeStore implements ObjectStore {
  readonly #root: string;
  readonly #requests: Requests;

  constructor(location: VolumeLocation, patience: Patience) {
    this.#root = location.path;
    this.#requests = new Requests(patience, translator([], volumeAnswer));
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ bytes: number }> {
    const what = this.#what("put", key);
    return await put(what, body, options, this.#requests.patience, (putID) => {
      const metadata = { ...options.metadata, [PUT_ID]: putID };
      return new VolumeWriter(this.#root, key, metadata, this.#requests, what, {
        putID: async (signal) => putIDOf((await this.#head(what, key, signal))?.metadata),
        remove: (signal) => this.delete(key, { signal }),
      });
    });
  }

  async *get(key: string, options: GetOptions): AsyncGenerator<Uint8Array, void, void> {
    const what = this.#what("get", key);
    yield* read(what, options.from ?? 0, this.#requests, options.signal, (from, version) =>
      this.#open(what, key, from, version),
    );
  }

  async #open(what: string, key: string, from: number, version: string | undefined): Promise<Opened | undefined> {
    const file = await open(join(this.#root, key)).catch((thrown) => this.#explain(what, thrown));
    const found = await file.stat({ bigint: true });
    const bytes = Number(found.size) - from;
    const now = `${found.ino}-${found.mtimeNs}`;
    const isAnother = version !== undefined && version !== now;
    if (isAnother || !found.isFile() || bytes <= 0) await file.close();
    if (isAnother || !found.isFile()) {
      const why = isAnother ? "the object was replaced while it was read" : "it is a folder";
      throw new StoreError("NoSuchObject", `${what}: ${why}`);
    }
    if (bytes <= 0) return undefined;
    return { version: now, bytes, body: file.createReadStream({ start: from, highWaterMark: READ_BYTES }) };
  }

  async head(key: string, { signal }: CallOptions): Promise<StoredObject | undefined> {
    return withoutPutID(await this.#head(this.#what("head", key), key, signal));
  }

  async #head(what: string, key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    return await this.#requests.make(what, this.#requests.patience.answerMs, signal, async () => {
      try {
        const found = await stat(join(this.#root, key));
        if (!found.isFile()) return undefined;
        const metadata = await readMetadata(metadataFile(this.#root, found.ino), key);
        return { key, bytes: found.size, modified: found.mtime, metadata };
      } catch (thrown) {
        const error = await this.#explain(what, thrown).catch((error) => error);
        if (error instanceof StoreError && error.reason === "NoSuchObject") return undefined;
        throw error;
      }
    });
  }

  async *list(prefix: string, { signal }: CallOptions): AsyncGenerator<StoredObject, void, void> {
    const what = this.#what("list", prefix);
    // A prefix "a/b" is searched in the folder "a".
    const folders = [prefix.includes("/") ? dirname(`${prefix}x`) : ""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const entry of await this.#entries(what, folder, signal)) {
        const key = folder === "" ? entry.name : `${folder}/${entry.name}`;
        const isBelow = key.startsWith(prefix) || prefix.startsWith(`${key}/`);
        if (!isBelow || key === OWN_FOLDER) continue;
        if (entry.isDirectory()) folders.push(key);
        const found = entry.isFile() ? await this.#head(what, key, signal) : undefined;
        if (found !== undefined) yield { ...found, metadata: {} };
      }
    }
  }

  async #entries(what: string, folder: string, signal: AbortSignal): Promise<Dirent[]> {
    return await this.#requests.make(what, this.#requests.patience.answerMs, signal, async () => {
      try {
        return await readdir(join(this.#root, folder), { withFileTypes: true });
      } catch (thrown) {
        if (folder === "" || !["ENOENT", "ENOTDIR"].includes(codeOf(thrown))) return await this.#explain(what, thrown);
        return []; // A missing folder has no objects.
      }
    });
  }

  async delete(key: string, { signal }: CallOptions): Promise<void> {
    const what = this.#what("delete", key);
    await this.#requests.make(what, this.#requests.patience.answerMs, signal, async () => {
      try {
        const path = join(this.#root, key);
        const { ino } = await stat(path);
        // The object is deleted last: until then its inode number, and so its metadata file, belongs to it.
        await unlink(metadataFile(this.#root, ino)).catch((thrown) => {
          if (codeOf(thrown) !== "ENOENT") throw thrown;
        });
        await unlink(path);
      } catch (thrown) {
        const error = await this.#explain(what, thrown).catch((error) => error);
        if (!(error instanceof StoreError) || error.reason !== "NoSuchObject") throw error;
      }
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** "Not found" can mean the object or the whole directory. */
  async #explain(what: string, thrown: unknown): Promise<never> {
    if (!["ENOENT", "ENOTDIR"].includes(codeOf(thrown))) throw thrown;
    const root = await stat(this.#root).catch(() => undefined);
    if (root?.isDirectory()) throw new StoreError("NoSuchObject", `${what}: the object does not exist`);
    throw new StoreError("NoSuchBucket", `${what}: ${this.#root} is not an existing directory`);
  }

  #what(verb: string, key: string): string {
    if (verb !== "list" && checkKey(key).split("/")[0] === OWN_FOLDER) {
      throw new StoreError(
        "InvalidLocation",
        `key ${JSON.stringify(key)} is in ${OWN_FOLDER}, which is reserved for the store`,
      );
    }
    return `${verb} ${key} in ${this.#root}`;
  }
}

async function readMetadata(path: string, key: string): Promise<Metadata> {
  try {
    // Earlier releases did not store the key.
    const { [METADATA_KEY]: of = key, ...metadata } = JSON.parse(await readFile(path, "utf8")) as Metadata;
    return of === key ? metadata : {};
  } catch (thrown) {
    // A file that was put there or copied by other means has no metadata.
    if (codeOf(thrown) === "ENOENT" || thrown instanceof SyntaxError) return {};
    throw thrown;
  }
}
