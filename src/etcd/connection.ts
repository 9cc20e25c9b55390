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

// Why not the session manager of @connectrpc/connect-node?
//   It makes connections anew by itself, in a loop that does not always end: an answer to its ping right before the end of the connection
//   leaves it turning without a pause, and with it the whole process, leases, webhooks and all. See docs/adr/0036-connections-to-members-are-our-own.md.
// Why does a connection never come back?
//   One that has ended is followed by another one, which is another object: nobody then needs to know what became of the first.
// Why is a connection never pinged before it is used again?
//   It closes after a few idle seconds, and a call has a deadline. A stream that ends while nothing at all has come from the other side takes
//   the connection with it: the next call gets another one.
// Why is it torn down at its end, not closed in order?
//   By then nothing is open on it. In order, it would wait for the other side, and keep its descriptor for minutes where nobody answers: etcd
//   listens at its client port long before it takes connections there, and a node may be gone.

/** What is asked again and again while a stream is open. Streams that may be silent for long need it, to hear that the member is gone. */
export interface Pings {
  /** Milliseconds without a word from the other side until it is pinged, and as many until the next time. etcd refuses less than 5 s (`--grpc-keepalive-min-time`). */
  readonly everyMs: number;
  /** Milliseconds for the answer; after them the connection counts as dead. */
  readonly withinMs: number;
}

export interface ConnectionOptions {
  /** Example: `https://10.88.1.5:2379` */
  readonly origin: string;
  /** What Node is told: TLS, and settings of HTTP/2. Asked when it connects; may throw. */
  readonly settings?: () => SecureClientSessionOptions | undefined;
  readonly clock: Clock;
  /** Milliseconds until it stands; after them whoever waits for it fails. */
  readonly standsWithinMs: number;
  /** Milliseconds for which a connection is kept that nobody uses; asked each time when the last use has ended. */
  readonly idleMs: () => number;
  /** Undefined: none. */
  readonly pings?: Pings | undefined;
  /** Called once, when it is torn down: nothing is open on it any more. */
  readonly onGone?: (() => void) | undefined;
}

/** It ended in order before it was used: nothing was sent, and another connection does better. */
class EndedBeforeUse extends Error {
  constructor() {
    super("the connection ended before anything was sent");
  }
}

/** So often a member may close a connection before anything was sent on it, until a call fails. */
const CONNECTIONS_PER_CALL = 3;

/**
 * Opens a stream on the connection that there is, or on the next one where that has ended meanwhile.
 * @param current the connection by now; another one when the last has ended
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

/** One HTTP/2 connection: made with its first use, and torn down when nobody has used it for a while. */
export class Connection {
  readonly #options: ConnectionOptions;
  #session: ClientHttp2Session | undefined;
  #standing: Promise<void> | undefined;
  /** Calls that wait for it, and streams that are open on it. */
  #uses = 0;
  /** No more uses begin; those that there are may end. */
  #isOver = false;
  /** There is nothing left of it. */
  #isGone = false;
  /** What the other side did to it, or that it was given up here; undefined also when it ended in order. */
  #whyFailed: ConnectError | undefined;
  #stopIdling: () => void = () => undefined;
  #stopPinging: () => void = () => undefined;
  #heardAtMs = 0;
  /** How often something came from the other side. */
  #heard = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#idle();
  }

  /** Whether nothing can be opened on it any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Opens a stream, on a connection that stands.
   * @param onSending called when all that has to be waited for is over, right before the first byte is written; what it throws ends the
   *   call, and nothing is sent
   * @throws ConnectError `Unavailable` when there is no connection, with its cause; EndedBeforeUse, for `openOn`
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

  /** Something has come from the other side: it need not be pinged. @param stream on which it came; one of another connection tells nothing */
  heard(stream?: ClientHttp2Stream): void {
    if (stream !== undefined && stream.session !== this.#session) return;
    this.#heard += 1;
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  /** Nothing more is opened on it; what is open may end. */
  retire(): void {
    this.#isOver = true;
    if (this.#uses === 0) this.#tearDown();
  }

  /** Tears it down; what is open on it, or waits for it, fails with `Unavailable`. */
  abort(why = "the connection was given up"): void {
    this.#whyFailed ??= new ConnectError(why, Code.Unavailable);
    this.#tearDown(this.#whyFailed);
  }

  #connect(): Promise<void> {
    const { origin, settings, clock, standsWithinMs } = this.#options;
    return new Promise((resolve, reject) => {
      let session: ClientHttp2Session;
      try {
        session = connect(origin, settings?.());
      } catch (thrown) {
        this.#isOver = true; // Such as a certificate that is none.
        return reject(unavailable(thrown));
      }
      this.#session = session;
      // Whoever takes connections and never says a word would be waited for without an end.
      const stopWaiting = deadline(clock, standsWithinMs, () => {
        this.abort(`no connection within ${standsWithinMs} ms`);
      });
      session.once("connect", () => {
        stopWaiting();
        resolve();
      });
      // For as long as it lives: an error that nobody listens for ends the process. One may come after the connection stood: over TLS 1.3
      // that is when a member refuses our certificate.
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
    this.#session?.unref(); // A process that waits for nothing else may end.
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

  #tearDown(why?: ConnectError): void {
    this.#isOver = true;
    if (this.#isGone) return;
    this.#isGone = true;
    this.#stopIdling();
    this.#stopPinging();
    const session = this.#session;
    if (why === undefined) session?.destroy();
    else session?.destroy(why, constants.NGHTTP2_CANCEL);
    this.#options.onGone?.();
  }
}

/** Whatever went wrong, for who called; the cause tells it in full. */
export function unavailable(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new ConnectError(text, Code.Unavailable, undefined, undefined, thrown);
}
