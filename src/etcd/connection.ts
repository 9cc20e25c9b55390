import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "#base/clock.ts";
import { deadline } from "#base/deadline.ts";
import { holdSession } from "./native-order.ts";

// Why not the session manager of @connectrpc/connect-node?
//   Its reconnect loop does not always end. A ping answered right before the connection ends makes it spin without a
//   pause. The whole process then hangs, leases and webhooks included. See
//   docs/adr/0036-connections-to-members-are-our-own.md.
// Why does a Connection never reconnect?
//   A new connection is a new object, so no state of the previous one has to be reset.
// Why is an idle connection not pinged before reuse?
//   It closes after a few idle seconds, and a call has a deadline. A stream that ends without any data received retires
//   its connection, so the next call opens a new one.
// Why is a connection destroyed at its end, and not closed gracefully?
//   No stream is open on it any more. A graceful close waits for the peer, and keeps the file descriptor for minutes
//   without one. That happens when a node is lost, or while etcd listens at its client port and does not accept
//   connections yet.

// What can a hostile member do on a connection?
//   A tenant chooses a member's image, and so controls the frames that it sends. Node and nghttp2 limit most of them:
//   headers (64 KiB, 128 pairs), CONTINUATION (8), queued answers to SETTINGS and PING (1,000). This file handles the
//   rest:
//   - Pushed streams: an error on one without a listener ends the process. Push is disabled; a stream pushed before the
//     member has read that setting is refused.
//   - Frames that belong to no answer and cost CPU: see TrafficMeter.
//   - Connections that are never established, and calls without an answer: deadlines.

/** Keepalive pings while a stream is open. Streams that may be silent for long need them to detect a lost member. */
export interface Pings {
  /**
   * Milliseconds without data from the server until a ping, and between pings. etcd by default refuses less than 5 s
   * (`--grpc-keepalive-min-time`).
   */
  readonly everyMs: number;
  /** Milliseconds without an answer to a ping until the connection counts as dead. */
  readonly withinMs: number;
}

export interface ConnectionOptions {
  /** Example: `https://10.88.1.5:2379` */
  readonly origin: string;
  /** Node's session options, such as TLS. Called when the connection is opened; may throw. */
  readonly settings?: () => SecureClientSessionOptions | undefined;
  readonly clock: Clock;
  /** Milliseconds to establish the connection; after that, all waiting calls fail. */
  readonly standsWithinMs: number;
  /** Milliseconds for which an unused connection stays open. Called each time the last use has ended. */
  readonly idleMs: () => number;
  /** Undefined: no pings. */
  readonly pings?: Pings | undefined;
  /** Flow-control window in bytes, for the connection and each stream. Undefined: 64 KiB, the default of HTTP/2. */
  readonly windowBytes?: number | undefined;
  /** Called once, when the connection is destroyed. */
  readonly onGone?: (() => void) | undefined;
}

/** The connection ended without an error before anything was sent, so the call can be retried on a new connection. */
class EndedBeforeUse extends Error {
  constructor() {
    super("the connection ended before anything was sent");
  }
}

/** HTTP/2's default flow-control window: https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2 */
const DEFAULT_WINDOW_BYTES = 65_535;

/** Stream → its connection. */
const CONNECTIONS = new WeakMap<ClientHttp2Stream, Connection>();

/** Reports content of an answer, received on a stream from `Connection.open`. @param bytes length of the content */
export function heardOn(stream: ClientHttp2Stream, bytes: number): void {
  CONNECTIONS.get(stream)?.heard(bytes);
}

/** The given options, with the window and with server push disabled. */
function hardened(given: SecureClientSessionOptions = {}, windowBytes: number | undefined): SecureClientSessionOptions {
  return {
    ...given,
    settings: { ...(windowBytes !== undefined && { initialWindowSize: windowBytes }), enablePush: false },
    maxReservedRemoteStreams: 0, // nghttp2 refuses streams pushed before the server has read the settings
  };
}

/** Connections that a call tries when each ends before use. Larger: a hostile member causes more reconnects. */
const CONNECTIONS_PER_CALL = 3;

/**
 * Opens a stream, and retries on a new connection when the current one ends before anything was sent.
 * @param current returns the current connection; a new one when the previous one is over
 * @param onSending see `Connection.open`
 */
export async function openOn(
  current: () => Connection,
  headers: OutgoingHttpHeaders,
  onSending?: () => void,
): Promise<ClientHttp2Stream> {
  for (let left = CONNECTIONS_PER_CALL; ; left--) {
    try {
      return await current().open(headers, onSending);
    } catch (thrown) {
      if (!(thrown instanceof EndedBeforeUse)) throw thrown;
      if (left <= 1) throw unavailable(thrown);
    }
  }
}

/** One HTTP/2 connection: opened by its first use, destroyed after an idle period. */
export class Connection {
  readonly #options: ConnectionOptions;
  #session: ClientHttp2Session | undefined;
  #standing: Promise<void> | undefined;
  /** Number of calls that wait for the connection, plus open streams. */
  #uses = 0;
  /** No new uses are accepted; current uses may finish. */
  #isOver = false;
  /** The session is destroyed. */
  #isGone = false;
  /** Why the connection failed or was aborted. Undefined while it works, and after an end without error. */
  #whyFailed: ConnectError | undefined;
  #stopIdling: () => void = () => undefined;
  #stopPinging: () => void = () => undefined;
  #stopMetering: () => void = () => undefined;
  #heardAtMs = 0;
  readonly #meter: TrafficMeter;
  /** Number of times that data was received from the server. */
  #heard = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#meter = new TrafficMeter(options.windowBytes ?? DEFAULT_WINDOW_BYTES);
    this.#idle();
  }

  /** Whether the connection accepts no new streams. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Opens a stream, once the connection is established.
   * @param onSending called after all waiting, right before the first byte is written. If it throws, nothing is sent,
   *   and the call fails with that error.
   * @throws ConnectError `Unavailable`, with its cause, when there is no connection; EndedBeforeUse, handled by
   *   `openOn`
   */
  async open(headers: OutgoingHttpHeaders, onSending?: () => void): Promise<ClientHttp2Stream> {
    if (this.#isOver) throw this.#whyFailed ?? new EndedBeforeUse();
    this.#begin();
    try {
      this.#standing ??= this.#connect();
      await this.#standing;
      if (this.#whyFailed !== undefined) throw this.#whyFailed;
      const session = this.#session;
      this.#isOver ||= session === undefined || session.closed || session.destroyed;
      if (this.#isOver || session === undefined) throw new EndedBeforeUse();
      onSending?.();
      const heardBefore = this.#heard;
      const stream = session.request(headers);
      CONNECTIONS.set(stream, this);
      holdSession(session, stream);
      stream.once("response", () => this.heard());
      stream.once("close", () => {
        if (this.#heard === heardBefore) this.retire();
        this.#end();
      });
      return stream;
    } catch (thrown) {
      this.#end();
      throw thrown;
    }
  }

  /**
   * Records data from the server, which postpones the next ping.
   * @param contentBytes bytes of it that are message content
   */
  heard(contentBytes = 0): void {
    this.#heard += 1;
    this.#meter.content(contentBytes);
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  /** Accepts no new streams; open streams may finish. */
  retire(): void {
    this.#isOver = true;
    if (this.#uses === 0) this.#tearDown();
  }

  /** Destroys the connection; open streams and waiting calls fail with `Unavailable`. */
  abort(why = "the connection was given up"): void {
    this.#whyFailed ??= new ConnectError(why, Code.Unavailable);
    this.#tearDown(this.#whyFailed);
  }

  #connect(): Promise<void> {
    const { origin, settings, clock, standsWithinMs, windowBytes } = this.#options;
    return new Promise((resolve, reject) => {
      let session: ClientHttp2Session;
      try {
        session = connect(origin, hardened(settings?.(), windowBytes));
      } catch (thrown) {
        this.#isOver = true; // For example, invalid PEM.
        return reject(unavailable(thrown));
      }
      this.#session = session;
      // Without a deadline, a server that accepts TCP connections and stays silent would block calls forever.
      const stopWaiting = deadline(clock, standsWithinMs, () => {
        this.abort(`no connection within ${standsWithinMs} ms`);
      });
      session.once("connect", () => {
        stopWaiting();
        if (session.destroyed) return; // Reset before this listener ran: `close` follows.
        // The connection's window is separate from the windows of streams, and can only be set once it is connected.
        if (windowBytes !== undefined) session.setLocalWindowSize(windowBytes);
        this.#measure(session);
        resolve();
      });
      session.on("stream", (pushed: ClientHttp2Stream) => {
        pushed.on("error", () => undefined);
        pushed.close(constants.NGHTTP2_REFUSED_STREAM);
        // Deferred, because the session is reading at this moment.
        setImmediate(() => this.abort("the server pushed a stream, which this client does not allow"));
      });
      // `on`, not `once`: an error without a listener ends the process, and errors can occur after the connection is
      // established. With TLS 1.3 a member rejects our client certificate only then.
      session.on("error", (thrown: Error) => {
        this.#whyFailed ??= unavailable(thrown);
      });
      session.on("goaway", () => this.retire());
      session.once("close", () => {
        stopWaiting();
        this.retire();
        reject(this.#whyFailed ?? new ConnectError("the connection was closed", Code.Unavailable));
      });
    });
  }

  #begin(): void {
    this.#stopIdling();
    this.#uses += 1;
    if (this.#uses > 1) return;
    this.#session?.ref();
    this.#ping();
  }

  #end(): void {
    this.#uses -= 1;
    if (this.#uses > 0) return;
    this.#stopPinging();
    if (this.#isOver) {
      this.#tearDown();
      return;
    }
    this.#session?.unref(); // An idle connection must not keep the process alive.
    this.#idle();
  }

  #idle(): void {
    this.#stopIdling = this.#options.clock.after(this.#options.idleMs(), () => this.retire());
  }

  #ping(): void {
    const { pings, clock } = this.#options;
    if (pings === undefined) return;
    this.heard();
    const wait = (ms: number, next: () => void): void => {
      this.#stopPinging = clock.after(ms, next);
    };
    const look = (): void => {
      const askedAtMs = clock.monotonicMs();
      const quietMs = askedAtMs - this.#heardAtMs;
      if (quietMs < pings.everyMs) wait(pings.everyMs - quietMs, look);
      else if (this.#session?.connecting !== false || this.#session.destroyed) wait(pings.everyMs, look);
      else {
        this.#session.ping((failure) => failure === null && this.heard());
        this.#stopPinging = deadline(clock, pings.withinMs, () => {
          if (this.#heardAtMs < askedAtMs) this.abort(`no answer to a ping within ${pings.withinMs} ms`);
          else look();
        });
      }
    };
    wait(pings.everyMs, look);
  }

  /** Checks the traffic periodically until the connection is destroyed. */
  #measure(session: ClientHttp2Session): void {
    if (this.#isGone || session.destroyed) return;
    const excess = this.#meter.read(session.socket?.bytesRead ?? 0);
    if (excess === undefined) {
      this.#stopMetering = this.#options.clock.after(METER_EVERY_MS, () => this.#measure(session));
      return;
    }
    this.abort(`the server sent ${excess} bytes that belong to no answer`);
  }

  #tearDown(why?: ConnectError): void {
    this.#isOver = true;
    if (this.#isGone) return;
    this.#isGone = true;
    this.#stopIdling();
    this.#stopPinging();
    this.#stopMetering();
    const session = this.#session;
    if (why === undefined) session?.destroy();
    else session?.destroy(why, constants.NGHTTP2_CANCEL);
    this.#options.onGone?.();
  }
}

/**
 * Milliseconds between two readings of the meter. Smaller: more work for idle connections. Larger: a flood costs CPU
 * for longer.
 */
const METER_EVERY_MS = 250;

/**
 * Allowed overhead in bytes between two readings: frame headers, HTTP headers, SETTINGS, PING. If smaller, a hundred
 * short answers at once, each with 100 to 300 bytes, exceed it. If larger, a flood of 9-byte frames costs more CPU.
 */
const OVERHEAD_BYTES = 32 * 1_024;

/**
 * Detects a server that floods the connection with frames outside of answers: PING, SETTINGS, PRIORITY, status 103, or
 * content byte by byte. HTTP/2 has no limit for them, and each frame costs CPU. Unread content counts as overhead until
 * it is read, so the limit includes the flow-control window.
 */
export class TrafficMeter {
  readonly #most: number;
  #contentBytes = 0;
  #readBytes = 0;
  #level = 0;

  /** @param windowBytes flow-control window: content that may have been received and not read yet */
  constructor(windowBytes: number) {
    this.#most = windowBytes + OVERHEAD_BYTES;
  }

  /** Records content that was read. */
  content(bytes: number): void {
    this.#contentBytes += bytes;
  }

  /**
   * Takes a reading; called every METER_EVERY_MS.
   * @param totalBytes bytes received since the connection was opened
   * @returns accumulated excess bytes, lowered by OVERHEAD_BYTES at each reading; undefined while below the limit
   */
  read(totalBytes: number): number | undefined {
    // Content is credited twice: a frame header (9 bytes) may be as long as the content of its frame.
    const overhead = totalBytes - this.#readBytes - 2 * this.#contentBytes;
    this.#readBytes = totalBytes;
    this.#contentBytes = 0;
    this.#level = Math.max(0, this.#level + overhead - OVERHEAD_BYTES);
    return this.#level > this.#most ? this.#level : undefined;
  }
}

/** Wraps any error as a ConnectError `Unavailable`, with the original error as cause. */
export function unavailable(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new ConnectError(text, Code.Unavailable, undefined, undefined, thrown);
}
