import { StoreError } from "./error.ts";
import { type GCSAPI, GCSRefusal } from "./gcs-api.ts";
import type { Part } from "./parts.ts";
import { type Requests, sendMs } from "./patience.ts";
import type { Writer } from "./put.ts";
import type { Metadata } from "./store.ts";

/** Google requires a multiple of 256 KiB. */
const PART_BYTES = 8 * 1024 ** 2;

/** Answers for a session that does not exist any more. */
const GONE = [404, 410];

/**
 * Resumable upload of an object: bytes are sent in order to a session, and the object exists after the last ones.
 * Before a retry, the session is asked how many bytes it has.
 */
export class GCSWriter implements Writer {
  readonly parallel = 1;
  readonly partBytes = PART_BYTES;
  readonly putID: Writer["putID"];
  readonly remove: Writer["remove"];
  readonly #api: GCSAPI;
  readonly #requests: Requests;
  readonly #what: string;
  readonly #bucket: string;
  readonly #object: { readonly name: string; readonly metadata: Metadata };
  #session: URL | undefined;
  #last: Part | undefined;

  constructor(
    api: GCSAPI,
    requests: Requests,
    what: string,
    bucket: string,
    object: { readonly name: string; readonly metadata: Metadata },
    there: Pick<Writer, "putID" | "remove">,
  ) {
    this.#api = api;
    this.#requests = requests;
    this.#what = what;
    this.#bucket = bucket;
    this.#object = object;
    this.putID = there.putID;
    this.remove = there.remove;
  }

  async whole(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    try {
      await this.begin(signal);
      await this.#send(bytes, 0, bytes.length, signal);
    } catch (thrown) {
      await this.abandon(AbortSignal.timeout(this.#requests.patience.cleanUpMs)).catch(() => {}); // The first error is more informative.
      throw thrown;
    }
  }

  async begin(signal: AbortSignal): Promise<void> {
    const query = { uploadType: "resumable", name: this.#object.name, ifGenerationMatch: "0" };
    const url = this.#api.url(`upload/storage/v1/b/${this.#bucket}/o`, query);
    const headers = { "content-type": "application/json", "x-upload-content-type": "application/octet-stream" };
    const body = JSON.stringify(this.#object);
    await this.#requests.make(this.#what, this.#requests.patience.answerMs, signal, async (signal) => {
      const answer = await this.#api.request(url, { method: "POST", headers, body, signal });
      const session = answer.headers.location;
      if (session === undefined)
        throw new StoreError("Other", `${this.#what}: the store began no upload (HTTP ${answer.statusCode})`);
      this.#session = this.#api.sessionURL(session);
    });
  }

  async part(part: Part, signal: AbortSignal): Promise<void> {
    // The last bytes create the object, so `commit` sends them.
    if (part.isLast) this.#last = part;
    else await this.#send(part.bytes, part.offset, undefined, signal);
  }

  async commit(signal: AbortSignal): Promise<void> {
    const { bytes, offset } = this.#last ?? { bytes: new Uint8Array(), offset: 0 };
    await this.#send(bytes, offset, offset + bytes.length, signal);
  }

  /** @param total size of the object, when these are its last bytes */
  async #send(bytes: Uint8Array, offset: number, total: number | undefined, signal: AbortSignal): Promise<void> {
    const end = offset + bytes.length;
    const deadlineMs =
      sendMs(this.#requests.patience, bytes.length) + (total === undefined ? 0 : this.#requests.patience.commitMs);
    let isFirst = true;
    await this.#requests.make(this.#what, deadlineMs, signal, async (signal) => {
      let at: number | "done" = isFirst ? offset : await this.#put(`bytes */${total ?? "*"}`, undefined, signal);
      isFirst = false;
      while (at !== "done" && (at < end || total !== undefined)) {
        // The missing bytes are no longer in memory.
        if (at < offset) throw new StoreError("Other", `${this.#what}: the store has lost bytes that it had accepted`);
        const range = at === end ? `bytes */${total}` : `bytes ${at}-${end - 1}/${total ?? "*"}`;
        const now: number | "done" = await this.#put(range, bytes.subarray(at - offset), signal);
        if (now === at) throw new StoreError("Unreachable", `${this.#what}: the store accepted no bytes`);
        at = now;
      }
    });
  }

  /** @returns number of bytes that the store has, or "done" */
  async #put(range: string, body: Uint8Array | undefined, signal: AbortSignal): Promise<number | "done"> {
    if (this.#session === undefined) throw new StoreError("Other", `${this.#what}: no upload has begun`);
    const headers = { "content-range": range };
    const request = { method: "PUT", headers, body: body ?? new Uint8Array(), signal } as const;
    const answer = await this.#api.request(this.#session, request).catch((thrown: unknown) => {
      if (!(thrown instanceof GCSRefusal) || !GONE.includes(thrown.status)) throw thrown;
      const message = `${this.#what}: the store no longer has the upload (HTTP ${thrown.status}); it may have expired`;
      throw new StoreError("Other", message);
    });
    answer.resume(); // Read to the end, so that the connection can be reused.
    const status = answer.statusCode;
    // An upload cannot be done before its last bytes, and a redirect or a proxy's page proves nothing.
    if ((status === 200 || status === 201) && !range.endsWith("/*")) return "done";
    if (status !== 308) throw new StoreError("Other", `${this.#what}: the store answered HTTP ${status} to ${range}`);
    const has = /^(?:bytes=)?0-(\d+)$/.exec(answer.headers.range ?? "");
    return has === null ? 0 : Number(has[1]) + 1;
  }

  async abandon(signal: AbortSignal): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    await this.#requests.make(this.#what, this.#requests.patience.answerMs, signal, async (signal) => {
      try {
        await this.#api.request(session, { method: "DELETE", signal });
      } catch (thrown) {
        // Google answers 499 for a cancelled upload, other servers differ; a session expires after a week anyway.
        if (!(thrown instanceof GCSRefusal) || thrown.status >= 500) throw thrown;
      }
    });
  }
}
