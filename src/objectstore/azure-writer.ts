import type { BlockBlobClient } from "@azure/storage-blob";
import type { Part } from "./parts.ts";
import { type Attempt, type Requests, sendMs } from "./patience.ts";
import type { Writer } from "./put.ts";
import type { Metadata } from "./store.ts";

/** Azure allows 50,000 blocks: 390 GiB at this size. */
const PART_BYTES = 8 * 1024 ** 2;

/** Only if the blob does not exist, in any version. */
const CONDITIONS = { ifNoneMatch: "*" };

/** Azure requires C# identifiers as metadata names. */
export function toAzureMetadata(metadata: Metadata): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name.replaceAll("-", "_"), value]));
}

export function fromAzureMetadata(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name.replaceAll("_", "-"), value]));
}

/** Upload of a block blob: blocks are invisible until their list is committed. */
export class AzureWriter implements Writer {
  readonly parallel = 2;
  readonly partBytes = PART_BYTES;
  readonly putID: Writer["putID"];
  readonly remove: Writer["remove"];
  readonly #blob: BlockBlobClient;
  readonly #requests: Requests;
  readonly #what: string;
  readonly #id: string;
  readonly #metadata: Record<string, string>;
  readonly #blocks: string[] = [];

  /** @param id ID of the put call */
  constructor(
    blob: BlockBlobClient,
    requests: Requests,
    what: string,
    id: string,
    metadata: Record<string, string>,
    there: Pick<Writer, "putID" | "remove">,
  ) {
    this.#blob = blob;
    this.#requests = requests;
    this.#what = what;
    this.#id = id;
    this.#metadata = metadata;
    this.putID = there.putID;
    this.remove = there.remove;
  }

  async whole(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const options = { conditions: CONDITIONS, metadata: this.#metadata };
    await this.#make(this.#sendMs(bytes), signal, (abortSignal) =>
      this.#blob.upload(bytes, bytes.length, { ...options, abortSignal }),
    );
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  async part({ index, bytes }: Part, signal: AbortSignal): Promise<void> {
    const block = this.#blockID(index);
    await this.#make(this.#sendMs(bytes), signal, (abortSignal) =>
      this.#blob.stageBlock(block, bytes, bytes.length, { abortSignal }),
    );
    this.#blocks[index] = block;
  }

  async commit(signal: AbortSignal): Promise<void> {
    const options = { conditions: CONDITIONS, metadata: this.#metadata };
    await this.#make(this.#requests.patience.commitMs, signal, (abortSignal) =>
      this.#blob.commitBlockList(this.#blocks, { ...options, abortSignal }),
    );
  }

  abandon(): Promise<void> {
    // Uncommitted blocks cannot be deleted. They are invisible, and Azure drops them after a week.
    return Promise.resolve();
  }

  /** All writers of a key share one namespace of block IDs, and all IDs must have the same length. */
  #blockID(index: number): string {
    return Buffer.from(`${this.#id}-${String(index).padStart(6, "0")}`).toString("base64");
  }

  #sendMs(bytes: Uint8Array): number {
    return sendMs(this.#requests.patience, bytes.length);
  }

  #make<T>(deadlineMs: number, signal: AbortSignal, attempt: Attempt<T>): Promise<T> {
    return this.#requests.make(this.#what, deadlineMs, signal, attempt);
  }
}
