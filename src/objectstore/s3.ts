import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import { translator } from "./failure.ts";
import { checkKey } from "./key.ts";
import type { S3Location } from "./location.ts";
import { Pages } from "./pages.ts";
import { type Patience, Requests } from "./patience.ts";
import { PUT_ID, put, putIDOf, withoutPutID } from "./put.ts";
import { type Opened, read, replaced } from "./read.ts";
import { type S3Credentials, s3Config, s3Secrets } from "./s3-config.ts";
import { s3Answer, s3Status } from "./s3-error.ts";
import { S3Writer, storageFields } from "./s3-writer.ts";
import type { CallOptions, GetOptions, ObjectStore, PutOptions, StoredObject } from "./store.ts";

/** Amazon S3 and compatible stores. */
export class S3Store implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #storage: ReturnType<typeof storageFields>;
  readonly #place: string;
  readonly #requests: Requests;

  /** @param credentials undefined: the pod's own identity, such as a web identity @param ca see `s3Config` */
  constructor(
    location: S3Location,
    credentials: S3Credentials | undefined,
    ca: string | undefined,
    patience: Patience,
  ) {
    this.#client = new S3Client(s3Config(location, credentials, ca, patience));
    this.#bucket = location.bucket;
    this.#storage = storageFields(location.storage);
    this.#place = `bucket ${location.bucket}${location.endpoint === undefined ? "" : ` at ${location.endpoint}`}`;
    this.#requests = new Requests(patience, translator(s3Secrets(credentials), s3Answer));
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<{ bytes: number }> {
    const what = this.#what("put", key);
    return await put(what, body, options, this.#requests.patience, (putID) => {
      const Metadata = { ...options.metadata, [PUT_ID]: putID };
      const object = { Bucket: this.#bucket, Key: key, Metadata, ...this.#storage };
      const { expectedBytes } = options;
      const there = {
        putID: async (signal: AbortSignal) => {
          const found = await this.#head(what, key, signal);
          return putIDOf(found && (found.Metadata ?? {}));
        },
        remove: (signal: AbortSignal) => this.delete(key, { signal }),
      };
      return new S3Writer(this.#client, this.#requests, what, object, expectedBytes, there, options.needsCondition);
    });
  }

  async *get(key: string, options: GetOptions): AsyncGenerator<Uint8Array, void, void> {
    const what = this.#what("get", key);
    yield* read(what, options.from ?? 0, this.#requests, options.signal, async (from, version, signal) => {
      try {
        return await this.#open(key, from, version, signal);
      } catch (thrown) {
        if (s3Status(thrown) === 416) return undefined;
        if (s3Status(thrown) !== 412) throw thrown;
        throw replaced(what);
      }
    });
  }

  async #open(key: string, from: number, version: string | undefined, abortSignal: AbortSignal): Promise<Opened> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      ...(from === 0 ? {} : { Range: `bytes=${from}-` }),
      ...(version === undefined || version === "" ? {} : { IfMatch: version }),
    });
    const { Body, ContentLength, ETag } = await this.#client.send(command, { abortSignal });
    // In Node it is a stream; the type also covers browsers.
    const body = Body as unknown as AsyncIterable<Uint8Array>;
    return { version: ETag ?? "", bytes: ContentLength ?? 0, body };
  }

  async head(key: string, { signal }: CallOptions): Promise<StoredObject | undefined> {
    const found = await this.#head(this.#what("head", key), key, signal);
    if (found === undefined) return undefined;
    const { ContentLength: bytes = 0, LastModified: modified = new Date(0), Metadata: metadata = {} } = found;
    return withoutPutID({ key, bytes, modified, metadata });
  }

  #head(what: string, key: string, signal: AbortSignal): Promise<HeadObjectCommandOutput | undefined> {
    const object = { Bucket: this.#bucket, Key: key };
    return this.#requests.make(what, this.#requests.patience.answerMs, signal, async (abortSignal) => {
      try {
        return await this.#client.send(new HeadObjectCommand(object), { abortSignal });
      } catch (thrown) {
        const status = s3Status(thrown);
        if (status === undefined || status < 400 || status >= 500) throw thrown;
      }
      // The answer to HEAD has no body with the reason; the answer to GET has one.
      try {
        const { Body } = await this.#client.send(new GetObjectCommand({ ...object, Range: "bytes=0-0" }), {
          abortSignal,
        });
        (Body as unknown as { destroy?: () => void } | undefined)?.destroy?.();
      } catch (thrown) {
        if (s3Answer(thrown)?.reason === "NoSuchObject") return undefined;
        throw thrown;
      }
      // The object appeared in between, or HEAD alone fails.
      return await this.#client.send(new HeadObjectCommand(object), { abortSignal });
    });
  }

  async *list(prefix: string, { signal }: CallOptions): AsyncGenerator<StoredObject, void, void> {
    const what = this.#what("list", prefix);
    const pages = new Pages(what);
    let next: string | undefined;
    do {
      const page = await this.#requests.make(what, this.#requests.patience.answerMs, signal, (abortSignal) => {
        const token = next === undefined ? {} : { ContinuationToken: next };
        const command = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ...token });
        return this.#client.send(command, { abortSignal });
      });
      for (const { Key = "", Size = 0, LastModified = new Date(0) } of page.Contents ?? []) {
        yield { key: Key, bytes: Size, modified: LastModified, metadata: {} };
      }
      next = pages.next(page.IsTruncated ? page.NextContinuationToken : undefined);
    } while (next !== undefined);
  }

  async delete(key: string, { signal }: CallOptions): Promise<void> {
    await this.#requests.make(
      this.#what("delete", key),
      this.#requests.patience.answerMs,
      signal,
      async (abortSignal) => {
        try {
          await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal });
        } catch (thrown) {
          if (s3Answer(thrown)?.reason !== "NoSuchObject") throw thrown;
        }
      },
    );
  }

  close(): Promise<void> {
    this.#client.destroy();
    return Promise.resolve();
  }

  #what(verb: string, key: string): string {
    return `${verb} ${verb === "list" ? key : checkKey(key)} in ${this.#place}`;
  }
}
