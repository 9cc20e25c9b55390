import { createHash } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { StoreError } from "./error.ts";
import type { S3Storage } from "./location.ts";
import type { Part } from "./parts.ts";
import { type Attempt, type Requests, sendMs } from "./patience.ts";
import { PUT_ID, type Writer } from "./put.ts";
import { s3Answer, s3Status } from "./s3-error.ts";

/** S3 refuses parts below 5 MiB; this size allows 76 GiB. */
const PART_BYTES = 8 * 1024 ** 2;

/** S3 allows 10,000 parts; the margin is for an expected size that is too low. */
const MOST_PARTS = 9_500;

/** Amazon advises to abort an upload more than once, and may confirm each abort. */
const MOST_ABORTS = 3;

/**
 * Time limit for ending other uploads, in milliseconds. It is spent between object and manifest: if larger, another
 * attempt takes the object for one without a manifest (BETWEEN_WRITES_MS in src/agent/stored.ts).
 */
const END_OTHERS_MS = 5_000;

/** Maximum number of unfinished uploads that are aborted. A Job has five pods, and each may leave a few. */
const MOST_ENDED = 20;

export interface NewObject extends StorageFields {
  readonly Bucket: string;
  readonly Key: string;
  readonly Metadata: Record<string, string>;
}

type StorageFields = Pick<PutObjectCommandInput, "ServerSideEncryption" | "SSEKMSKeyId" | "StorageClass" | "Tagging">;

/** Fields of the requests that begin an object. */
export function storageFields({
  serverSideEncryption,
  kmsKeyID,
  storageClass,
  tags = {},
}: S3Storage = {}): StorageFields {
  return {
    ...(serverSideEncryption === undefined ? {} : { ServerSideEncryption: serverSideEncryption }),
    ...(kmsKeyID === undefined ? {} : { SSEKMSKeyId: kmsKeyID }),
    ...(storageClass === undefined ? {} : { StorageClass: storageClass }),
    ...(Object.keys(tags).length === 0 ? {} : { Tagging: new URLSearchParams(tags).toString() }),
  };
}

/** Upload of an object to S3, multipart unless it fits into one part. */
export class S3Writer implements Writer {
  readonly parallel = 2;
  readonly partBytes: number;
  readonly putID: Writer["putID"];
  readonly remove: Writer["remove"];
  readonly #client: S3Client;
  readonly #requests: Requests;
  readonly #what: string;
  readonly #object: NewObject;
  readonly #tags: string[] = [];
  #uploadID: string | undefined;
  /** False after the server has answered a conditional write with 501. */
  #isConditionKnown = true;
  readonly #needsCondition: boolean;

  /** @param object Metadata contains the ID of the call */
  constructor(
    client: S3Client,
    requests: Requests,
    what: string,
    object: NewObject,
    expectedBytes: number | undefined,
    there: Pick<Writer, "putID" | "remove">,
    needsCondition = false,
  ) {
    this.#client = client;
    this.#requests = requests;
    this.#what = what;
    this.#object = object;
    this.partBytes = Math.max(PART_BYTES, Math.ceil((expectedBytes ?? 0) / MOST_PARTS));
    this.putID = there.putID;
    this.remove = there.remove;
    this.#needsCondition = needsCondition;
  }

  async whole(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const object = { ...this.#object, Body: bytes, ContentMD5: md5Of(bytes) };
    await this.#make(this.#sendMs(bytes), signal, (abortSignal) =>
      this.#unlessThere(abortSignal, (condition) =>
        this.#client.send(new PutObjectCommand({ ...object, ...condition }), { abortSignal }),
      ),
    );
  }

  async begin(signal: AbortSignal): Promise<void> {
    const { UploadId } = await this.#make(this.#requests.patience.answerMs, signal, (abortSignal) =>
      this.#client.send(new CreateMultipartUploadCommand(this.#object), { abortSignal }),
    );
    this.#uploadID = UploadId;
  }

  async part({ index, bytes }: Part, signal: AbortSignal): Promise<void> {
    const part = { ...this.#upload(), PartNumber: index + 1, Body: bytes, ContentMD5: md5Of(bytes) };
    const { ETag = "" } = await this.#make(this.#sendMs(bytes), signal, (abortSignal) =>
      this.#whileBegun(this.#client.send(new UploadPartCommand(part), { abortSignal })),
    );
    this.#tags[index] = ETag;
  }

  async commit(signal: AbortSignal): Promise<void> {
    const Parts = this.#tags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    const upload = { ...this.#upload(), MultipartUpload: { Parts } };
    let asked = 0;
    await this.#make(this.#requests.patience.commitMs, signal, (abortSignal) => {
      asked += 1;
      return this.#unlessThere(abortSignal, (condition) =>
        this.#whileBegun(
          this.#client.send(new CompleteMultipartUploadCommand({ ...upload, ...condition }), { abortSignal }),
        ),
      );
    });
    if (asked > 1) await this.#shown(signal);
  }

  /**
   * Ends uploads of the same key that earlier attempts have left: their parts would be paid for until a lifecycle rule
   * ends them. None of them can become the object any more. Without the permission, in an outage or after an abort,
   * they stay.
   */
  async endOthers(signal: AbortSignal): Promise<void> {
    const { Bucket, Key } = this.#object;
    try {
      await this.#requests.once(this.#what, END_OTHERS_MS, signal, async (abortSignal) => {
        const list = new ListMultipartUploadsCommand({ Bucket, Prefix: Key, MaxUploads: MOST_ENDED });
        const { Uploads = [] } = await this.#client.send(list, { abortSignal });
        for (const { UploadId } of Uploads.filter((each) => each.Key === Key))
          await this.#client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal });
      });
    } catch {
      // The object is stored all the same.
    }
  }

  /**
   * Turns NoSuchUpload into an error that explains it. A repeated completion also gets NoSuchUpload when the first one
   * succeeded and its answer was lost. So `put` checks whether the object exists.
   */
  async #whileBegun<T>(sent: Promise<T>): Promise<T> {
    try {
      return await sent;
    } catch (thrown) {
      if (!(thrown instanceof Error) || thrown.name !== "NoSuchUpload") throw thrown;
      const message = `${this.#what}: the store no longer has the upload (NoSuchUpload); a lifecycle rule or another client may have ended it`;
      throw new StoreError("Other", message);
    }
  }

  /**
   * Sends a write on the condition that the key has no object. Some servers answer the condition with 501. For them the
   * key is looked up right before a write without the condition: an object that appears in between is overwritten.
   */
  async #unlessThere(signal: AbortSignal, send: (condition: { IfNoneMatch?: "*" }) => Promise<unknown>): Promise<void> {
    if (this.#isConditionKnown) {
      try {
        await send({ IfNoneMatch: "*" });
        return;
      } catch (thrown) {
        if (s3Status(thrown) !== 501) throw thrown;
        const message = `${this.#what}: the server does not support If-None-Match, which an archive of changes requires`;
        if (this.#needsCondition) throw new StoreError("InvalidLocation", message);
        this.#isConditionKnown = false;
      }
    }
    const found = await this.putID(signal); // Not #found: nothing may be written without permission to look up the key.
    if (found === this.#object.Metadata[PUT_ID]) return;
    if (found !== undefined) throw this.#another();
    await send({});
  }

  #another(): StoreError {
    return new StoreError("ObjectExists", `${this.#what}: another writer has stored ${this.#object.Key}`);
  }

  /**
   * Waits until the object is visible. versitygw confirms a repeated completion while the first is still running and
   * may fail. It does so even when another writer's object has the key.
   * @throws StoreError `Timeout`, `ObjectExists`
   */
  async #shown(signal: AbortSignal): Promise<void> {
    const { Metadata } = this.#object;
    const what = `${this.#what}: the store confirmed the object, but does not return it yet`;
    await this.#requests.once(what, this.#requests.patience.commitMs, signal, async (own) => {
      for (let looks = 0; ; looks++) {
        const found = await this.#found(own);
        if (found === Metadata[PUT_ID]) return;
        if (found !== undefined) throw this.#another();
        await this.#requests.pause(looks, what, own);
      }
    });
  }

  /** ID of the existing object. A client with write access only must trust the confirmation. */
  async #found(signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.putID(signal);
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.reason === "AccessDenied") return this.#object.Metadata[PUT_ID];
      throw thrown;
    }
  }

  async abandon(signal: AbortSignal): Promise<void> {
    // A part in transit may outlive the upload, so the abort is repeated until nothing is left.
    for (let times = 0; this.#uploadID !== undefined && times < MOST_ABORTS; times++) {
      if (times > 0) await this.#requests.pause(0, this.#what, signal);
      await this.#make(this.#requests.patience.answerMs, signal, (abortSignal) => this.#abort(abortSignal));
    }
  }

  async #abort(abortSignal: AbortSignal): Promise<void> {
    try {
      await this.#client.send(new AbortMultipartUploadCommand(this.#upload()), { abortSignal });
    } catch (thrown) {
      if (s3Answer(thrown)?.reason !== "NoSuchObject") throw thrown;
      this.#uploadID = undefined;
    }
  }

  #upload(): { Bucket: string; Key: string; UploadId: string | undefined } {
    const { Bucket, Key } = this.#object;
    return { Bucket, Key, UploadId: this.#uploadID };
  }

  #sendMs(bytes: Uint8Array): number {
    return sendMs(this.#requests.patience, bytes.length);
  }

  #make<T>(deadlineMs: number, signal: AbortSignal, attempt: Attempt<T>): Promise<T> {
    return this.#requests.make(this.#what, deadlineMs, signal, attempt);
  }
}

/** MD5 in base64. A bucket with object lock requires a checksum, and servers of any age support this one. */
function md5Of(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("base64");
}
