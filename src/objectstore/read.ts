import { isWorthAnotherTry, StoreError } from "./error.ts";
import type { Requests } from "./patience.ts";

/** An object, or the rest of one, while its bytes arrive. */
export interface Opened {
  /** Version of the object; equal versions have equal bytes. */
  readonly version: string;
  /** Number of bytes to come. */
  readonly bytes: number;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Requests the object from byte `from` on.
 * @param version required version; a store may refuse another with `replaced`, or send it, which `read` refuses
 * @returns undefined when there are no bytes from there on
 */
export type Open = (from: number, version: string | undefined, signal: AbortSignal) => Promise<Opened | undefined>;

/**
 * Yields an object's bytes. When a connection breaks or hangs, the rest of the same version is requested, until no byte
 * has arrived for `giveUpMs`.
 * @param what name of the operation in messages
 */
export async function* read(
  what: string,
  from: number,
  requests: Requests,
  signal: AbortSignal,
  open: Open,
): AsyncGenerator<Uint8Array, void, void> {
  let at = from;
  let version: string | undefined;
  let end: number | undefined;
  let sinceMs = requests.nowMs();
  for (let inVain = 0; ; inVain++) {
    // The body outlives the attempt that opened it, and ends with this call.
    let body = new AbortController();
    let opened: Opened | undefined;
    try {
      opened = await requests.make(what, requests.patience.answerMs, signal, (attempt) => {
        const own = new AbortController();
        body = own;
        attempt.addEventListener("abort", () => own.abort());
        return open(at, version, own.signal);
      });
      if (opened === undefined) return;
      // Some servers ignore the condition and send the present version.
      if (version !== undefined && opened.version !== version) throw replaced(what);
      version = opened.version;
      end ??= at + opened.bytes;
      // Some proxies ignore the range and send the object from its start.
      if (at + opened.bytes !== end)
        throw new StoreError(
          "Unreachable",
          `${what}: the store ignored the range: it sent ${opened.bytes} bytes, not the last ${end - at}`,
        );
      for await (const chunk of eachInTime(what, opened.body, requests, signal)) {
        at += chunk.length;
        inVain = -1;
        yield chunk;
        sinceMs = requests.nowMs(); // The time in which the caller used the chunk does not count.
      }
      if (at === end) return;
      throw new StoreError("Unreachable", `${what}: the store ended it ${end - at} bytes too early`);
    } catch (thrown) {
      // When no body was opened, `make` has already used all attempts.
      if (opened === undefined || !(thrown instanceof StoreError) || !isWorthAnotherTry(thrown)) throw thrown;
      if (requests.isGivenUp(sinceMs)) throw thrown;
    } finally {
      body.abort();
    }
    await requests.pause(Math.max(0, inVain), what, signal);
  }
}

/** Error for an object that was replaced during the read. @param what name of the operation in messages */
export function replaced(what: string): StoreError {
  return new StoreError("NoSuchObject", `${what}: the object was replaced while it was read`);
}

async function* eachInTime(
  what: string,
  body: AsyncIterable<Uint8Array>,
  requests: Requests,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await requests.once(what, requests.patience.idleMs, signal, () => chunks.next());
      if (done) return;
      if (value.length > 0) yield value;
    }
  } finally {
    // Releases the file or connection. Not awaited: a body that hangs does not answer.
    chunks.return?.()?.catch(() => {});
  }
}
