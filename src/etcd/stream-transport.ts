import type { ClientHttp2Stream } from "node:http2";
import { setImmediate } from "node:timers/promises";
import {
  create,
  type DescMessage,
  type DescMethodStreaming,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse, type Transport } from "@connectrpc/connect";
import { checkBytes, decodedAnswer } from "./answer-bounds.ts";
import { heardOn, unavailable } from "./connection.ts";
import { framed, MessageReader, Verdict } from "./grpc-frames.ts";
import { type GivenHeaders, type OpenStream, requestHeaders, unaryTransport } from "./unary-transport.ts";

// Why not the streams of @connectrpc/connect-node?
//   It limits only the bytes of a message: a watch response of 16 MiB with empty events takes gigabytes once decoded.
//   It also iterates over all chunks of a message for each new chunk, so a message sent byte by byte takes minutes.

/** HTTP/2 error code CANCEL: https://www.rfc-editor.org/rfc/rfc9113#section-7 */
const CANCEL = 8;

/**
 * Messages that are yielded before the event loop gets a turn. Larger: a window of 4 MiB with tiny messages would block
 * the event loop. Smaller: more overhead per message.
 */
const MESSAGES_PER_TURN = 256;

/**
 * Transport for unary and streaming calls. Messages are bounded by `answer-bounds.ts`. A stream ignores the timeout and
 * ends by its signal; it fails with the same errors as a unary call.
 */
export function grpcTransport(open: OpenStream): Transport {
  return {
    ...unaryTransport(open),
    stream: (method, signal, _timeoutMs, header, input) => streamed(open, method, signal, header, input),
  };
}

async function streamed<I extends DescMessage, O extends DescMessage>(
  open: OpenStream,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
  header: GivenHeaders | undefined,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<StreamResponse<I, O>> {
  const call = new StreamCall<I, O>(
    method,
    await opened(open, requestHeaders(method, header, undefined), signal),
    signal,
  );
  void call.write(input);
  const headers = new Headers();
  return { stream: true, service: method.parent, method, header: headers, trailer: headers, message: call.messages() };
}

/** Opens a stream, or fails with `Canceled` as soon as the signal aborts. */
function opened(
  open: OpenStream,
  headers: ReturnType<typeof requestHeaders>,
  signal: AbortSignal | undefined,
): Promise<ClientHttp2Stream> {
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(canceled());
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    open(headers).then(
      (stream) => {
        stream.on("error", () => undefined); // `messages` throws it.
        signal?.removeEventListener("abort", cancel);
        if (signal?.aborted === true) stream.close(CANCEL);
        resolve(stream);
      },
      (thrown: unknown) => reject(unavailable(thrown)),
    );
  });
}

/** One streaming call. */
class StreamCall<I extends DescMessage, O extends DescMessage> {
  readonly #method: DescMethodStreaming<I, O>;
  readonly #stream: ClientHttp2Stream;
  readonly #signal: AbortSignal | undefined;
  readonly #verdict = new Verdict();
  readonly #cancel = (): void => {
    this.#close(canceled());
  };

  constructor(method: DescMethodStreaming<I, O>, stream: ClientHttp2Stream, signal: AbortSignal | undefined) {
    this.#method = method;
    this.#stream = stream;
    this.#signal = signal;
    stream.on("response", (given) => {
      try {
        this.#verdict.head(given);
      } catch (thrown) {
        this.#close(unavailable(thrown));
      }
    });
    stream.on("trailers", (given) => this.#verdict.trailers(given));
    signal?.addEventListener("abort", this.#cancel, { once: true });
    if (signal?.aborted === true) this.#cancel();
  }

  /** Sends all request messages, and then ends the request. */
  async write(input: AsyncIterable<MessageInitShape<I>>): Promise<void> {
    const stream = this.#stream;
    try {
      for await (const message of input) {
        if (stream.destroyed || stream.writableEnded) return;
        if (!stream.write(framed(toBinary(this.#method.input, create(this.#method.input, message)))))
          await drained(stream);
      }
      stream.end();
    } catch (thrown) {
      this.#close(unavailable(thrown));
    }
  }

  /**
   * Yields the messages of the answer, with backpressure: reads only as fast as the caller consumes.
   * @throws ConnectError
   */
  async *messages(): AsyncGenerator<MessageShape<O>, void> {
    const stream = this.#stream;
    const reader = new MessageReader((bytes) => checkBytes(this.#method, bytes));
    let taken = 0;
    try {
      for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        heardOn(stream, piece.length);
        for (const bytes of reader.add(piece)) {
          yield decodedAnswer<O>(this.#method, bytes);
          taken += 1;
          if (taken % MESSAGES_PER_TURN === 0) await setImmediate();
        }
      }
    } catch (thrown) {
      if (this.#signal?.aborted === true) throw canceled();
      if (!this.#verdict.isGiven || thrown instanceof ConnectError) throw unavailable(thrown);
    } finally {
      this.#signal?.removeEventListener("abort", this.#cancel);
      this.#close();
    }
    if (this.#signal?.aborted === true) throw canceled();
    this.#verdict.check(stream.rstCode);
    if (reader.isWithin) throw new ConnectError("the answer ended within a message", Code.Unavailable);
  }

  #close(why?: ConnectError): void {
    this.#stream.close(CANCEL);
    this.#stream.destroy(why);
  }
}

function canceled(): ConnectError {
  return new ConnectError("this operation was aborted", Code.Canceled);
}

/** Resolves when the stream accepts more data, or is closed. */
function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    stream.once("drain", resolve).once("close", resolve);
  });
}
