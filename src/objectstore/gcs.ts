import { translator } from "./failure.ts";
import { GCSAPI, GCSRefusal, jsonOf } from "./gcs-api.ts";
import { type GCSCredentials, gcsSecrets } from "./gcs-credentials.ts";
import { GCSWriter } from "./gcs-writer.ts";
import { checkKey } from "./key.ts";
import type { GCSLocation } from "./location.ts";
import { Pages } from "./pages.ts";
import { type Patience, Requests } from "./patience.ts";
import { PUT_ID, put, putIDOf, withoutPutID } from "./put.ts";
import { type Opened, read, replaced } from "./read.ts";
import type { CallOptions, GetOptions, Metadata, ObjectStore, PutOptions, StoredObject } from "./store.ts";

/** Fields that are read from Google's object resource. */
interface Description {
  readonly name: string;
  readonly size?: string;
  readonly updated?: string;
  readonly metadata?: Metadata;
}

/** Google Cloud Storage. */
export class GCSStore implements ObjectStore {
  readonly #api: GCSAPI;
  readonly #bucket: string;
  readonly #place: string;
  readonly #requests: Requests;

  /** @param credentials undefined: the pod's own identity @param ca see `GCSAPI` */
  constructor(
    location: GCSLocation,
    credentials: GCSCredentials | undefined,
    ca: string | undefined,
    patience: Patience,
  ) {
    this.#api = new GCSAPI(location, credentials, ca);
    this.#bucket = location.bucket;
    this.#place = `bucket ${location.bucket}${location.endpoint === undefined ? "" : ` at ${location.endpoint}`}`;
    this.#requests = new Requests(patience, translator(gcsSecrets(credentials)));
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ bytes: number }> {
    const what = this.#what("put", key);
    return await put(what, body, options, this.#requests.patience, (putID) => {
      const object = { name: key, metadata: { ...options.metadata, [PUT_ID]: putID } };
      return new GCSWriter(this.#api, this.#requests, what, this.#bucket, object, {
        putID: async (signal) => putIDOf((await this.#head(what, key, signal))?.metadata),
        remove: (signal) => this.delete(key, { signal }),
      });
    });
  }

  async *get(key: string, options: GetOptions): AsyncGenerator<Uint8Array, void, void> {
    const what = this.#what("get", key);
    yield* read(what, options.from ?? 0, this.#requests, options.signal, async (from, version, signal) => {
      try {
        return await this.#open(key, from, version, signal);
      } catch (thrown) {
        if (!(thrown instanceof GCSRefusal)) throw thrown;
        if (thrown.status === 416) return undefined;
        if (thrown.status === 412) throw replaced(what);
        throw await this.#why(thrown, signal);
      }
    });
  }

  async #open(key: string, from: number, version: string | undefined, signal: AbortSignal): Promise<Opened> {
    const url = this.#url(key, { alt: "media", ...(version === undefined ? {} : { ifGenerationMatch: version }) });
    // Request the stored bytes, without decompression on the way.
    const headers = { "accept-encoding": "identity", ...(from === 0 ? {} : { range: `bytes=${from}-` }) };
    const answer = await this.#api.request(url, { headers, signal });
    const bytes = Number(answer.headers["content-length"] ?? Number.NaN);
    const generation = answer.headers["x-goog-generation"];
    if (Number.isNaN(bytes) || typeof generation !== "string")
      throw new Error("the store does not send the object's size and generation");
    return { version: generation, bytes, body: answer };
  }

  async head(key: string, { signal }: CallOptions): Promise<StoredObject | undefined> {
    return withoutPutID(await this.#head(this.#what("head", key), key, signal));
  }

  #head(what: string, key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    return this.#requests.make(what, this.#requests.patience.answerMs, signal, async (signal) => {
      try {
        const found = await jsonOf<Description>(await this.#api.request(this.#url(key), { signal }));
        return { ...objectOf(found), metadata: found.metadata ?? {} };
      } catch (thrown) {
        const why = await this.#why(thrown, signal);
        if (why instanceof GCSRefusal && why.answer.reason === "NoSuchObject") return undefined;
        throw why;
      }
    });
  }

  async *list(prefix: string, { signal }: CallOptions): AsyncGenerator<StoredObject, void, void> {
    const what = this.#what("list", prefix);
    const pages = new Pages(what);
    let next: string | undefined;
    do {
      const page = await this.#requests.make(what, this.#requests.patience.answerMs, signal, (signal) =>
        this.#page({ prefix, ...(next === undefined ? {} : { pageToken: next }) }, signal),
      );
      for (const item of page.items ?? []) yield objectOf(item);
      next = pages.next(page.nextPageToken);
    } while (next !== undefined);
  }

  async #page(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ items?: Description[]; nextPageToken?: string }> {
    return await jsonOf(await this.#api.request(this.#api.url(`storage/v1/b/${this.#bucket}/o`, query), { signal }));
  }

  async delete(key: string, { signal }: CallOptions): Promise<void> {
    await this.#requests.make(this.#what("delete", key), this.#requests.patience.answerMs, signal, async (signal) => {
      try {
        await this.#api.request(this.#url(key), { method: "DELETE", signal });
      } catch (thrown) {
        const why = await this.#why(thrown, signal);
        if (!(why instanceof GCSRefusal) || why.answer.reason !== "NoSuchObject") throw why;
      }
    });
  }

  close(): Promise<void> {
    this.#api.close();
    return Promise.resolve();
  }

  /** "Not found" can mean the object or the bucket, distinguished only in the text: a list request settles it. */
  async #why(thrown: unknown, signal: AbortSignal): Promise<unknown> {
    if (!(thrown instanceof GCSRefusal) || thrown.answer.reason !== "NoSuchObject") return thrown;
    try {
      await this.#page({ maxResults: "1" }, signal);
    } catch (refusal) {
      if (!(refusal instanceof GCSRefusal)) return refusal;
      const text = refusal.answer.text;
      if (refusal.status === 404) return new GCSRefusal(404, { reason: "NoSuchBucket", text });
    }
    return thrown;
  }

  #url(key: string, query: Readonly<Record<string, string>> = {}): URL {
    return this.#api.url(`storage/v1/b/${this.#bucket}/o/${encodeURIComponent(key)}`, query);
  }

  #what(verb: string, key: string): string {
    return `${verb} ${verb === "list" ? key : checkKey(key)} in ${this.#place}`;
  }
}

function objectOf({ name, size = "0", updated = "1970-01-01T00:00:00Z" }: Description): StoredObject {
  return { key: name, bytes: Number(size), modified: new Date(updated), metadata: {} };
}
