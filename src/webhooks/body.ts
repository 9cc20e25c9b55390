import type { IncomingMessage } from "node:http";

/** What all bodies that are held at the same time may still take, in bytes. */
export interface BodyBudget {
  leftBytes: number;
}

/** A body that is not taken, with the HTTP status and the words to say so. */
export class RefusedBody extends Error {
  override readonly name = "RefusedBody";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Reads a body and hands it to `use`; it counts as held until `use` has ended.
 * @throws RefusedBody when it is too large, when too many are held already, or when it breaks off
 */
export async function readBody<T>(
  request: IncomingMessage,
  maxBytes: number,
  budget: BodyBudget,
  use: (body: string) => Promise<T>,
): Promise<T> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(`${announced} bytes`, maxBytes);
  const chunks: Buffer[] = [];
  let held = 0;
  try {
    for await (const chunk of bytesOf(request)) {
      budget.leftBytes -= chunk.length;
      held += chunk.length;
      if (held > maxBytes) throw tooLarge(`more than ${maxBytes} bytes`, maxBytes);
      if (budget.leftBytes < 0) throw new RefusedBody(503, "too many requests are being answered; try again");
      chunks.push(chunk);
    }
    return await use(Buffer.concat(chunks).toString("utf8"));
  } finally {
    budget.leftBytes += held;
  }
}

async function* bytesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    // What is refused is answered first, on the connection that destroying the request would end.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw new RefusedBody(400, `the body broke off: ${cause instanceof Error ? cause.message : cause}`);
  }
}

function tooLarge(is: string, maxBytes: number): RefusedBody {
  return new RefusedBody(413, `the body has ${is}; it may have ${maxBytes}`);
}
