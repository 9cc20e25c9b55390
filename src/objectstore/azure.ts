import { type BlobDownloadResponseParsed, type ContainerClient, RestError } from "@azure/storage-blob";
import { type AzureCredentials, azureContainer, azureSecrets } from "./azure-config.ts";
import { azureAnswer } from "./azure-error.ts";
import { AzureWriter, fromAzureMetadata, toAzureMetadata } from "./azure-writer.ts";
import { translator } from "./failure.ts";
import { HttpConnections } from "./http.ts";
import { checkKey } from "./key.ts";
import type { AzureLocation } from "./location.ts";
import { Pages } from "./pages.ts";
import { type Patience, Requests } from "./patience.ts";
import { PUT_ID, put, putIDOf, withoutPutID } from "./put.ts";
import { type Opened, read, replaced } from "./read.ts";
import type { CallOptions, GetOptions, ObjectStore, PutOptions, StoredObject } from "./store.ts";

/** Azure Blob Storage: objects are block blobs. */
export class AzureStore implements ObjectStore {
  readonly #connections: HttpConnections;
  readonly #container: ContainerClient;
  readonly #place: string;
  readonly #requests: Requests;

  /** @param credentials undefined: the pod's workload identity @param ca see `azureContainer` */
  constructor(
    location: AzureLocation,
    credentials: AzureCredentials | undefined,
    ca: string | undefined,
    patience: Patience,
  ) {
    this.#connections = new HttpConnections(ca);
    this.#container = azureContainer(location, credentials, ca, this.#connections);
    this.#place = `container ${location.container} at ${location.endpoint ?? location.account}`;
    this.#requests = new Requests(patience, translator(azureSecrets(credentials), azureAnswer));
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ bytes: number }> {
    const what = this.#what("put", key);
    return await put(what, body, options, this.#requests.patience, (putID) => {
      const metadata = toAzureMetadata({ ...options.metadata, [PUT_ID]: putID });
      const blob = this.#container.getBlockBlobClient(key);
      return new AzureWriter(blob, this.#requests, what, putID, metadata, {
        putID: async (signal) => putIDOf((await this.#head(what, key, signal))?.metadata),
        remove: (signal) => this.delete(key, { signal }),
      });
    });
  }

  async *get(key: string, options: GetOptions): AsyncGenerator<Uint8Array, void, void> {
    const what = this.#what("get", key);
    yield* read(what, options.from ?? 0, this.#requests, options.signal, async (from, version, signal) => {
      try {
        return opened(await this.#download(key, from, version, signal));
      } catch (thrown) {
        if (!(thrown instanceof RestError)) throw thrown;
        if (thrown.statusCode === 416) return undefined;
        if (thrown.statusCode !== 412) throw thrown;
        throw replaced(what);
      }
    });
  }

  #download(
    key: string,
    from: number,
    version: string | undefined,
    abortSignal: AbortSignal,
  ): Promise<BlobDownloadResponseParsed> {
    const conditions = version === undefined ? {} : { ifMatch: version };
    // Without this the library retries broken connections itself, without a time limit.
    const options = { conditions, abortSignal, maxRetryRequests: 0 };
    return this.#container.getBlobClient(key).download(from, undefined, options);
  }

  async head(key: string, { signal }: CallOptions): Promise<StoredObject | undefined> {
    return withoutPutID(await this.#head(this.#what("head", key), key, signal));
  }

  #head(what: string, key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    return this.#requests.make(what, this.#requests.patience.answerMs, signal, async (abortSignal) => {
      try {
        const found = await this.#container.getBlobClient(key).getProperties({ abortSignal });
        const { contentLength: bytes = 0, lastModified: modified = new Date(0), metadata = {} } = found;
        return { key, bytes, modified, metadata: fromAzureMetadata(metadata) };
      } catch (thrown) {
        if (azureAnswer(thrown)?.reason === "NoSuchObject") return undefined;
        throw thrown;
      }
    });
  }

  async *list(prefix: string, { signal }: CallOptions): AsyncGenerator<StoredObject, void, void> {
    const what = this.#what("list", prefix);
    const pages = new Pages(what);
    let next: string | undefined;
    do {
      const page = await this.#requests.make(what, this.#requests.patience.answerMs, signal, async (abortSignal) => {
        const blobs = this.#container.listBlobsFlat({ abortSignal, ...(prefix === "" ? {} : { prefix }) });
        const { value } = await blobs.byPage(next === undefined ? {} : { continuationToken: next }).next();
        return value;
      });
      for (const { name, properties } of page?.segment.blobItems ?? []) {
        const { contentLength: bytes = 0, lastModified: modified } = properties;
        yield { key: name, bytes, modified, metadata: {} };
      }
      next = pages.next(page?.continuationToken);
    } while (next !== undefined);
  }

  async delete(key: string, { signal }: CallOptions): Promise<void> {
    const what = this.#what("delete", key);
    await this.#requests.make(what, this.#requests.patience.answerMs, signal, async (abortSignal) => {
      try {
        await this.#container.getBlobClient(key).delete({ abortSignal, deleteSnapshots: "include" });
      } catch (thrown) {
        if (azureAnswer(thrown)?.reason !== "NoSuchObject") throw thrown;
      }
    });
  }

  close(): Promise<void> {
    this.#connections.close();
    return Promise.resolve(); // The library keeps connections of its own; Node closes them when idle.
  }

  #what(verb: string, key: string): string {
    return `${verb} ${verb === "list" ? key : checkKey(key)} in ${this.#place}`;
  }
}

function opened({ etag = "", contentLength = 0, readableStreamBody }: BlobDownloadResponseParsed): Opened {
  // In Node it is a byte stream; the type also covers text.
  return { version: etag, bytes: contentLength, body: readableStreamBody as unknown as AsyncIterable<Uint8Array> };
}
