import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { systemClock } from "#base/clock.ts";
import { deadline } from "#base/deadline.ts";
import { checkBytes, decodedAnswer } from "./answer-bounds.ts";
import { heardOn, unavailable } from "./connection.ts";
import { framed, MessageReader, Verdict } from "./grpc-frames.ts";

// Why our own implementation of gRPC?
//   A unary call is one length-prefixed message each way, and a status in the trailers. The library's streams,
//   iterators and fetch headers take six times the CPU for the same bytes. With clusters at rest, status calls are most
//   of the operator's work: docs/performance.md, `fleet`.
// What does the library still do?
//   It encodes and decodes messages, and defines the errors.

/** HTTP/2 error code CANCEL: https://www.rfc-editor.org/rfc/rfc9113#section-7 */
const CANCEL = 8;

/** Empty headers and trailers of every response: no caller reads them. */
const NO_HEADERS = new Headers();

/** Additional request headers of a call. */
export type GivenHeaders = ConstructorParameters<typeof Headers>[0];

/** Opens a stream on a connection to the server. @throws ConnectError */
export type OpenStream = (headers: OutgoingHttpHeaders) => Promise<ClientHttp2Stream>;

/**
 * Transport for unary calls only. Answers are limited by `answer-bounds.ts`. A call fails with a ConnectError:
 * - the server's status, which is then also in the metadata
 * - `DeadlineExceeded`: the deadline passed locally
 * - `Canceled`: the signal aborted
 * - `ResourceExhausted`: the answer is too large
 * - `Unavailable`: any other failure, with its cause
 */
export function unaryTransport(open: OpenStream): Transport {
  return {
    unary: (method, signal, timeoutMs, header, input) => call(open, method, signal, timeoutMs, header, input),
    stream: () => Promise.reject(new ConnectError("streams are not served here", Code.Unimplemented)),
  };
}

async function call<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: GivenHeaders | undefined,
  input: MessageInitShape<I>,
): Promise<UnaryResponse<I, O>> {
  const frame = framed(toBinary(method.input, create(method.input, input)));
  const headers = requestHeaders(method, header, timeoutMs);
  const body = await exchanged(() => open(headers), method, frame, signal, timeoutMs);
  const message = decodedAnswer<O>(method, body);
  return { stream: false, service: method.parent, method, header: NO_HEADERS, trailer: NO_HEADERS, message };
}

/** Request headers of a gRPC call. */
export function requestHeaders(
  { parent, name }: DescMethod,
  given: GivenHeaders | undefined,
  timeoutMs: number | undefined,
): OutgoingHttpHeaders {
  return {
    ":method": "POST",
    ":path": `/${parent.typeName}/${name}`,
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...(timeoutMs === undefined ? {} : { "grpc-timeout": `${timeoutMs}m` }),
    ...(given === undefined ? {} : Object.fromEntries(new Headers(given))),
  };
}

/** Sends the request and resolves with the bytes of the answer's message. */
function exchanged(
  open: () => Promise<ClientHttp2Stream>,
  method: DescMethod,
  frame: Uint8Array,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      stopTimer?.();
      signal?.removeEventListener("abort", cancel);
    };
    const fail = (error: ConnectError): void => {
      if (isOver) return;
      end();
      stream?.close(CANCEL);
      stream?.destroy(); // On a blocked connection not even RST_STREAM is written, and the stream would never close.
      reject(error);
    };
    const cancel = (): void => fail(new ConnectError("this operation was aborted", Code.Canceled));
    const expire = (): void => fail(new ConnectError("the operation timed out", Code.DeadlineExceeded));
    const hasLeft = (): boolean => stream?.writableFinished === true;
    const stopTimer = timeoutMs === undefined ? undefined : deadline(systemClock, timeoutMs, expire, hasLeft);
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    open().then(
      (opened) => {
        stream = opened;
        const answer = new Answer(method);
        // The listener stays after the end, since an error without a listener ends the process. A server may send its
        // status and then reset the stream, without reading the rest of the request.
        opened.on("error", (thrown) => (answer.verdict.isGiven ? settle() : fail(unavailable(thrown))));
        if (isOver) return void opened.close(CANCEL);
        const settle = (): void => {
          if (isOver) return;
          try {
            const body = answer.message(opened.rstCode);
            end();
            if (!opened.writableFinished) opened.close(CANCEL); // The server does not need the rest of the request.
            resolve(body);
          } catch (thrown) {
            fail(unavailable(thrown));
          }
        };
        /** Processes received data; the call fails when that throws. */
        const take = (taking: () => void): void => {
          if (isOver) return;
          try {
            taking();
          } catch (thrown) {
            fail(unavailable(thrown));
          }
        };
        opened.on("response", (given) => take(() => answer.verdict.head(given)));
        opened.on("trailers", (given) => answer.verdict.trailers(given));
        opened.on("data", (piece: Buffer) => {
          heardOn(opened, piece.length);
          take(() => answer.add(piece));
        });
        opened.on("end", () => answer.verdict.isGiven && settle());
        opened.on("close", settle);
        opened.end(frame);
      },
      (thrown: unknown) => fail(unavailable(thrown)),
    );
  });
}

/** The part of an answer received so far. */
class Answer {
  readonly verdict = new Verdict();
  readonly #reader: MessageReader;
  #message: Uint8Array | undefined;

  constructor(method: DescMethod) {
    this.#reader = new MessageReader((bytes) => checkBytes(method, bytes));
  }

  /** Adds a chunk. @throws ConnectError when the answer is too large, or has more than one message */
  add(piece: Buffer): void {
    const [first, second] = this.#reader.add(piece);
    if (second !== undefined || (first !== undefined && this.#message !== undefined)) {
      throw new ConnectError("the answer has more than one message", Code.Internal);
    }
    this.#message ??= first;
  }

  /**
   * The complete message.
   * @param rstCode HTTP/2 error code with which the stream was closed
   * @throws ConnectError with the server's status, or when the answer is missing or not exactly one message
   */
  message(rstCode: number | undefined): Uint8Array {
    this.verdict.check(rstCode);
    if (this.#message !== undefined && !this.#reader.isWithin) return this.#message;
    throw new ConnectError("what came is not one message", Code.Internal);
  }
}
