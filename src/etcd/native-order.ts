import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";

// Why must the native object of a session be freed after those of its streams?
//   A stream holds memory for headers, which the session counts. After an incomplete header block (CONTINUATION without
//   an end, a reset within HEADERS) the stream keeps this memory until it is freed. A session that is freed first finds
//   its count above zero and aborts the process: `Assertion failed: (current_nghttp2_memory_) == (0)` in
//   src/node_http2.cc, Node 26.10. The garbage collector frees them in any order: a hostile member with 300 connections
//   aborted 5 of 8 runs.
// How is the order enforced?
//   A FinalizationRegistry references the session's native object until the stream's native object is freed.
// What if a later Node names its native objects differently?
//   Then the order is not enforced. test/hostile/members-abort.test.ts fails if the bug still exists.

/**
 * Registered key: a stream's native object. Held value: its session's native object, referenced until the key is freed.
 */
const HELD = new FinalizationRegistry<object>(() => undefined);

/** Property under which Node stores the native object of a session or stream. */
let nativeKey: symbol | undefined;

/**
 * Ensures that the session's native object is freed only after the stream's. Call it once the stream has been opened.
 */
export function holdSession(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
  const ofSession = nativeOf(session);
  if (ofSession === undefined) return;
  const hold = (): void => {
    const ofStream = nativeOf(stream);
    if (ofStream !== undefined) HELD.register(ofStream, ofSession);
  };
  // A pending stream waits for other streams to end, and has no native object yet.
  if (stream.pending) stream.once("ready", hold);
  else hold();
}

function nativeOf(owner: ClientHttp2Session | ClientHttp2Stream): object | undefined {
  nativeKey ??= Object.getOwnPropertySymbols(owner).find(({ description }) => description === "kHandle");
  return nativeKey === undefined ? undefined : (owner as unknown as Record<symbol, object | undefined>)[nativeKey];
}
