import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { systemClock } from "#base/clock.ts";
import { deadline } from "#base/deadline.ts";
import { unavailable } from "./connection.ts";

// Why gRPC by hand?
//   A call with one message each way is a frame with a length before it, and a status in the trailers. The library's way through streams,
//   iterators and headers of the fetch API takes six times the processor time for the same bytes, and a fleet at rest does little else
//   than ask members how they are: docs/performance.md, `fleet`.
// What is left to the library?
//   The messages, and the errors in which failures are told.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

/** Whether it is compressed, and the length. */
const FRAME_HEAD_BYTES = 5;
/** What HTTP/2 calls the end of a stream that nobody waits for any more: https://www.rfc-editor.org/rfc/rfc9113#section-7 */
const CANCEL = 8;

/** What nobody reads here. */
const NO_HEADERS = new Headers();

interface Options {
  /** Opens a stream on a connection to the server. @throws ConnectError */
  readonly open: (headers: OutgoingHttpHeaders) => Promise<ClientHttp2Stream>;
  /** Larger answers are not read, in bytes. */
  readonly readMaxBytes: number;
}

/**
 * Calls with one message each way, and no others.
 * All of them fail with a ConnectError: with the status that the server gave, which then is in its metadata; `DeadlineExceeded` when the
 * deadline passed here; `Canceled` when the signal aborted; `Unavailable` for whatever else went wrong, with its cause.
 */
export function unaryTransport(options: Options): Transport {
  return {
    unary: (method, signal, timeoutMs, _header, input) => call(options, method, signal, timeoutMs, input),
    stream: () => Promise.reject(new ConnectError("streams are not served here", Code.Unimplemented)),
  };
}

async function call<I extends DescMessage, O extends DescMessage>(
  options: Options,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  input: MessageInitShape<I>,
): Promise<UnaryResponse<I, O>> {
  const frame = framed(toBinary(method.input, create(method.input, input)));
  const path = `/${method.parent.typeName}/${method.name}`;
  const body = await exchanged(options, path, frame, signal, timeoutMs);
  const message = fromBinary(method.output, body);
  return { stream: false, service: method.parent, method, header: NO_HEADERS, trailer: NO_HEADERS, message };
}

/** The bytes of the answer's message. */
function exchanged(
  { open, readMaxBytes }: Options,
  path: string,
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
      stream?.destroy(); // Where nothing can be written, not even that, the stream would never close.
      reject(error);
    };
    const cancel = (): void => fail(new ConnectError("this operation was aborted", Code.Canceled));
    const expire = (): void => fail(new ConnectError("the operation timed out", Code.DeadlineExceeded));
    const hasLeft = (): boolean => stream?.writableFinished === true;
    const stopTimer = timeoutMs === undefined ? undefined : deadline(systemClock, timeoutMs, expire, hasLeft);
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    const headers = {
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...(timeoutMs === undefined ? {} : { "grpc-timeout": `${timeoutMs}m` }),
    };
    open(headers).then(
      (opened) => {
        stream = opened;
        const answer = new Answer();
        // Also after the end: nobody else hears of it. Who resets the stream may have told the answer before, and not want the rest of the question.
        opened.on("error", (thrown) => (answer.isTold ? settle() : fail(unavailable(thrown))));
        if (isOver) return void opened.close(CANCEL);
        const settle = (): void => {
          if (isOver) return;
          try {
            const body = answer.message(opened.rstCode);
            end();
            if (!opened.writableFinished) opened.close(CANCEL); // Nobody wants the rest of the question.
            resolve(body);
          } catch (thrown) {
            fail(unavailable(thrown));
          }
        };
        opened.on("response", (given) => answer.head(given));
        opened.on("trailers", (given) => answer.trailers(given));
        opened.on("data", (chunk: Buffer) => {
          if (answer.add(chunk) > readMaxBytes)
            fail(new ConnectError(`more than ${readMaxBytes} bytes`, Code.ResourceExhausted));
        });
        opened.on("end", () => answer.isTold && settle());
        opened.on("close", settle);
        opened.end(frame);
      },
      (thrown: unknown) => fail(unavailable(thrown)),
    );
  });
}

/** What has come of an answer so far. */
class Answer {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #httpStatus: number | undefined;
  #told: IncomingHttpHeaders = {};

  /** Whether the server has told how the call went. */
  get isTold(): boolean {
    return this.#told["grpc-status"] !== undefined;
  }

  head(headers: IncomingHttpHeaders & { readonly ":status"?: number | undefined }): void {
    this.#httpStatus = headers[":status"];
    if (headers["grpc-status"] !== undefined) this.#told = headers; // there is nothing but the status
  }

  trailers(headers: IncomingHttpHeaders): void {
    this.#told = headers;
  }

  /** @returns how many bytes there are by now */
  add(chunk: Buffer): number {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.#bytes;
  }

  /**
   * @param rstCode with which the stream was closed
   * @throws ConnectError a refusal, or that there is no answer, or not one whole message
   */
  message(rstCode: number | undefined): Uint8Array {
    const status = this.#told["grpc-status"];
    if (status === undefined) {
      const head = this.#httpStatus === undefined ? "" : `, HTTP status ${this.#httpStatus}`;
      throw new ConnectError(`the stream was closed without an answer (code ${rstCode ?? 0}${head})`, Code.Unavailable);
    }
    if (status !== "0") throw refusal(Number(status), String(this.#told["grpc-message"] ?? ""));
    const [first = Buffer.alloc(0)] = this.#chunks;
    const all = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    const isWhole = all.length >= FRAME_HEAD_BYTES && all.readUInt32BE(1) === all.length - FRAME_HEAD_BYTES;
    if (!isWhole || all[0] !== 0) throw new Error(`${all.length} bytes came, which are not one message`);
    return new Uint8Array(all.subarray(FRAME_HEAD_BYTES)); // a copy: keys in it are kept, and the socket's memory is not
  }
}

/** As the server told it: by its status in the metadata it is known to be the server's word. */
function refusal(status: number, text: string): ConnectError {
  return new ConnectError(decoded(text), status in Code ? status : Code.Unknown, { "grpc-status": String(status) });
}

function framed(message: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, FRAME_HEAD_BYTES);
  return frame;
}

/** Texts are percent-encoded; one that is not well encoded stays as it came. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The code tells enough.
  }
}
