import type { IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

// Framing of gRPC messages and status over HTTP/2: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md

/** Length of a message's prefix: one byte for compression, four for the length. */
const HEAD_BYTES = 5;

/**
 * Chunks of one message that are accepted at any size. etcd sends 16 KiB per DATA frame; a socket read may split one.
 */
const FREE_PIECES = 64;
/**
 * Minimum average size in bytes of the chunks after FREE_PIECES. Smaller: a message sent byte by byte blocked the event
 * loop for a quarter of a second. Larger: a member behind a poor network may be rejected.
 */
const PIECE_BYTES = 256;

/**
 * Longest error text that is kept, in characters. etcd's own have less than 100. The texts reach logs, events and
 * conditions, so a longer text of a hostile member is truncated.
 */
const MAX_TEXT = 1_000;

/** The HTTP status of every answer of a gRPC server, errors included. */
const HTTP_OK = 200;

/** A message with its gRPC prefix. */
export function framed(message: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(HEAD_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, HEAD_BYTES);
  return frame;
}

/** Assembles messages from chunks. Chunks are copied: a reference to a small one may retain a large socket buffer. */
export class MessageReader {
  readonly #check: (bytes: number) => void;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #body: Uint8Array | undefined;
  #bodyBytes = 0;
  #pieces = 0;

  /** @param check throws when a message of this length is not allowed; called before memory for it is allocated */
  constructor(check: (bytes: number) => void) {
    this.#check = check;
  }

  /** Whether a message is incomplete. */
  get isWithin(): boolean {
    return this.#headBytes > 0;
  }

  /** Adds a chunk. @returns the messages that are complete with it. @throws ConnectError, or the error of `check` */
  add(piece: Buffer): Uint8Array<ArrayBuffer>[] {
    const messages: Uint8Array<ArrayBuffer>[] = [];
    this.#pieces += 1;
    for (let at = 0; at < piece.length; ) {
      at += this.#body === undefined ? this.#addHead(piece, at) : this.#addBody(this.#body, piece, at);
      if (this.#body === undefined || this.#bodyBytes < this.#body.length) continue;
      messages.push(this.#body as Uint8Array<ArrayBuffer>);
      this.#body = undefined;
      this.#headBytes = 0;
      this.#pieces = 1;
    }
    if (this.#pieces > FREE_PIECES + this.#bodyBytes / PIECE_BYTES) {
      throw new ConnectError(
        `${this.#bodyBytes} bytes of a message came in ${this.#pieces} pieces`,
        Code.ResourceExhausted,
      );
    }
    return messages;
  }

  #addHead(piece: Buffer, from: number): number {
    const taken = piece.copy(this.#head, this.#headBytes, from);
    this.#headBytes += taken;
    if (this.#headBytes < HEAD_BYTES) return taken;
    if (this.#head[0] !== 0)
      throw new ConnectError("what came is not one message: it is compressed, or no message at all", Code.Internal);
    const length = this.#head.readUInt32BE(1);
    this.#check(length);
    this.#body = new Uint8Array(length);
    this.#bodyBytes = 0;
    return taken;
  }

  #addBody(body: Uint8Array, piece: Buffer, from: number): number {
    const part = piece.subarray(from, from + body.length - this.#bodyBytes);
    body.set(part, this.#bodyBytes);
    this.#bodyBytes += part.length;
    return part.length;
  }
}

/** The gRPC status of a call, from its headers or trailers. */
export class Verdict {
  #status: string | undefined;
  #text = "";

  /** Whether the status has arrived. */
  get isGiven(): boolean {
    return this.#status !== undefined;
  }

  /** Reads the headers. @throws ConnectError `Unavailable` when the HTTP status shows that this is no gRPC server */
  head(headers: IncomingHttpHeaders & { readonly ":status"?: number | undefined }): void {
    const status = headers[":status"];
    this.trailers(headers); // Trailers-Only answer: without a message, the gRPC status is in the headers.
    if (!this.isGiven && status !== HTTP_OK) throw new ConnectError(`HTTP status ${status}`, Code.Unavailable);
  }

  trailers(headers: IncomingHttpHeaders): void {
    const status = headers["grpc-status"];
    if (status === undefined) return;
    this.#status = String(status);
    this.#text = String(headers["grpc-message"] ?? "");
  }

  /**
   * Checks that the call succeeded.
   * @param rstCode HTTP/2 error code with which the stream was closed
   * @throws ConnectError with the server's status, or `Unavailable` when the stream closed without one
   */
  check(rstCode: number | undefined): void {
    if (this.#status === undefined) {
      throw new ConnectError(`the stream was closed without an answer (code ${rstCode ?? 0})`, Code.Unavailable);
    }
    if (this.#status !== "0") throw refusal(this.#status, this.#text);
  }
}

/**
 * Error with the server's status. The status is also put into the metadata, to mark the error as sent by the server.
 */
function refusal(status: string, text: string): ConnectError {
  const code = Number(status);
  const isKnown = /^\d{1,2}$/.test(status) && code in Code;
  return new ConnectError(readable(text), isKnown ? code : Code.Unknown, { "grpc-status": isKnown ? status : "2" });
}

/** Decodes a percent-encoded text and truncates it. A text with invalid encoding is kept unchanged. */
function readable(text: string): string {
  const start = text.length > 3 * MAX_TEXT ? text.slice(0, 3 * MAX_TEXT).replace(/%[0-9a-f]?$/i, "") : text;
  let decoded = start;
  try {
    decoded = decodeURIComponent(start);
  } catch {
    // Invalid encoding: keep the text unchanged.
  }
  return decoded.length > MAX_TEXT ? `${decoded.slice(0, MAX_TEXT)}…` : decoded;
}
