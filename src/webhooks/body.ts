import type { IncomingMessage } from "node:http";
import { type JsonLimits, JsonScan } from "./json-scan.ts";

/** Limits of a JSON body, and its memory cost. */
export interface BodyLimits extends JsonLimits {
  readonly maxBytes: number;
  /** Memory of each parsed key and value, in bytes; 0 when another thread parses the body in its own memory. */
  readonly bytesOfPart: number;
}

/**
 * Part of each request that the budget does not count, in bytes. An ordinary object fits in it and is read however much
 * other addresses use. If smaller, ordinary bodies would be refused during a flood; if larger, the server's 384
 * connections together would take more than 12 MiB.
 */
export const FREE_BYTES = 32 * 1024;

/**
 * Limits the memory of all bodies at the same time, beyond the free part of each. One address may use half of what the
 * others leave. So the first one leaves half, the next one a quarter, and so on.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #freeBytes: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(maxBytes: number, freeBytes = FREE_BYTES) {
    this.#maxBytes = maxBytes;
    this.#freeBytes = freeBytes;
  }

  /** Opens a request of this address, which holds nothing yet. */
  open(address: string): HeldBody {
    let own = 0;
    let free = this.#freeBytes;
    const add = (bytes: number): void => {
      own += bytes;
      this.#total += bytes;
      const held = (this.#held.get(address) ?? 0) + bytes;
      if (held === 0) this.#held.delete(address);
      else this.#held.set(address, held);
    };
    return {
      take: (bytes) => {
        const counted = Math.max(bytes - free, 0);
        free = Math.max(free - bytes, 0);
        if (counted === 0) return true; // even when other addresses have used up the budget
        const held = this.#held.get(address) ?? 0;
        if (held + counted > (this.#maxBytes - (this.#total - held)) / 2) return false;
        add(counted);
        return true;
      },
      release: () => {
        if (own > 0) add(-own);
      },
    };
  }
}

/** The memory that one request holds. */
export interface HeldBody {
  /** @returns false when these bytes exceed the budget; they are not counted then */
  take(bytes: number): boolean;
  /** Releases everything. */
  release(): void;
}

/** A refused body, with HTTP status and message. */
export class RefusedBody extends Error {
  override readonly name = "RefusedBody";
  readonly status: number;
  /** The first bytes of a body that is beyond the limits of JSON; empty otherwise. */
  readonly head: string;

  constructor(status: number, message: string, head = "") {
    super(message);
    this.status = status;
    this.head = head;
  }
}

/** Bytes kept of a refused body: an API server begins with the fields that the answer needs. */
const HEAD_BYTES = 512;

/**
 * Reads a body, and checks its limits before it is parsed.
 * @throws RefusedBody when it exceeds the limits or the budget, or when it breaks off
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  held: HeldBody,
): Promise<Uint8Array<ArrayBuffer>> {
  const { maxBytes, bytesOfPart } = limits;
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(`${announced} bytes`, maxBytes);
  const scan = new JsonScan(limits);
  let chunks: Buffer[] = [];
  let length = 0;
  let beyond: RefusedBody | undefined;
  for await (const chunk of bytesOf(request)) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`, maxBytes);
    // The rest is read anyway: a client that is still sending may not read the answer.
    if (beyond !== undefined) continue;
    const before = scan.parts;
    const why = scan.take(chunk);
    chunks.push(chunk);
    if (why !== undefined) {
      beyond = new RefusedBody(413, `the body ${why}`, Buffer.concat(chunks).toString("utf8", 0, HEAD_BYTES));
      chunks = [];
      held.release();
    } else if (!held.take(chunk.length + (scan.parts - before) * bytesOfPart))
      throw new RefusedBody(503, "too many requests are being answered; try again");
  }
  if (beyond !== undefined) throw beyond;
  return joined(chunks, length);
}

/** The body as JSON. @throws RefusedBody */
export function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  } catch (cause) {
    throw new RefusedBody(400, `the body is not JSON: ${cause instanceof Error ? cause.message : cause}`);
  }
}

/** Joins the chunks in a new buffer, which can be transferred to another thread. */
function joined(chunks: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

async function* bytesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    // Destroying the request would close the connection before the refusal is sent.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new RefusedBody(400, `the body broke off: ${cause instanceof Error ? cause.message : cause}`);
  }
}

function tooLarge(is: string, maxBytes: number): RefusedBody {
  return new RefusedBody(413, `the body has ${is}; it may have ${maxBytes}`);
}
