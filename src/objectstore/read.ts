import { isWorthAnotherTry, StoreError } from "./error.ts";
import type { Requests } from "./patience.ts";

/** An object, or the rest of one, that has begun to come. */
export interface Opened {
  /** Which version of the object it is; the same for the same bytes. */
  readonly version: string;
  /** Of what is to come. */
  readonly bytes: number;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * One request for the object from byte `from` on.
 * @param version that is asked for; another one is refused
 * @returns undefined when there are no bytes from there on
 */
export type Open = (from: number, version: string | undefined, signal: AbortSignal) => Promise<Opened | undefined>;

/**
 * Yields an object's bytes. Where a connection breaks or hangs, the rest of the same version is asked for; only attempts that
 * bring nothing are counted.
 * @param what for people
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
  for (let inVain = 0; ; inVain++) {
    // The body lives longer than the attempt that brought it, and ends with us.
    let body = new AbortController();
    try {
      const opened = await requests.make(what, requests.patience.answerMs, signal, (attempt) => {
        const own = new AbortController();
        body = own;
        attempt.addEventListener("abort", () => own.abort());
        return open(at, version, own.signal);
      });
      if (opened === undefined) return;
      version = opened.version;
      const end = at + opened.bytes;
      for await (const chunk of eachInTime(what, opened.body, requests, signal)) {
        at += chunk.length;
        inVain = -1;
        yield chunk;
      }
      if (at === end) return;
      throw new StoreError("Unreachable", `${what}: the store ended it ${end - at} bytes too early`);
    } catch (thrown) {
      const isLast = inVain + 1 >= requests.patience.attempts;
      if (!(thrown instanceof StoreError) || !isWorthAnotherTry(thrown.reason) || isLast) throw thrown;
    } finally {
      body.abort();
    }
    await requests.pause(Math.max(0, inVain), what, signal);
  }
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
    // Lets go of a file or a connection. Without waiting: a body that hangs does not answer.
    chunks.return?.()?.catch(() => {});
  }
}
