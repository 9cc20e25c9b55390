import { createHash } from "node:crypto";
import type { ObjectStore } from "#objectstore/store.ts";
import { type Bytes, Tally } from "../archive/bytes.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { decryptedByLooks } from "../archive/unknown.ts";
import { decompressed } from "../archive/zstd.ts";
import { AgentError } from "../error.ts";
import { type Closing, type Line, lineIn, type Opening } from "./line.ts";
import { MAX_LINE_BYTES, MAX_OBJECT_BYTES } from "./packet.ts";

/** Facts about an object that was read to its end. */
export interface Ends {
  readonly key: string;
  readonly opening: Opening;
  readonly closing: Closing;
  /** SHA-256 of the stored object. */
  readonly sha256: string;
}

/** Access to archived objects. */
export interface ReadAccess {
  readonly store: Pick<ObjectStore, "get">;
  /** Undefined: objects are not encrypted. */
  readonly key: EncryptionKey | undefined;
  readonly signal: AbortSignal;
}

/**
 * Yields the lines of an object between its opening and closing, and returns these two. The lines are verified only at
 * the end.
 * @throws AgentError ArchiveCorrupt naming the object, BadKey; StoreError
 */
export async function* linesOf(key: string, access: ReadAccess): AsyncGenerator<Line, Ends> {
  try {
    return yield* checkedLines(key, access);
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    const reason = thrown.reason === "BadKey" ? "BadKey" : "ArchiveCorrupt";
    throw new AgentError(reason, `${key} is not as it was stored: ${thrown.message}`, { cause: thrown });
  }
}

/** Reads an object without using its lines. */
export async function endsOf(key: string, access: ReadAccess): Promise<Ends> {
  const lines = linesOf(key, access);
  for (;;) {
    const { value, done } = await lines.next();
    if (done) return value;
  }
}

async function* checkedLines(objectKey: string, { store, key, signal }: ReadAccess): AsyncGenerator<Line, Ends> {
  const stored = new Tally();
  const bytes = await decryptedByLooks(stored.pass(store.get(objectKey, { signal })), key);
  const hash = createHash("sha256");
  let opening: Opening | undefined;
  let closing: Closing | undefined;
  for await (const text of texts(decompressed(bytes))) {
    if (closing !== undefined) throw corrupt("it continues after its closing line");
    const line = lineIn(text);
    if ("sha256" in line) {
      closing = line;
      continue;
    }
    hash.update(`${text}\n`);
    if (opening === undefined && "format" in line) opening = line;
    else if (opening !== undefined && !("format" in line)) yield line;
    else throw corrupt("it does not begin with an opening line");
  }
  if (opening === undefined || closing === undefined) throw corrupt("it is cut off");
  if (hash.digest("hex") !== closing.sha256)
    throw corrupt("the hash of its lines differs from that in its closing line");
  return { key: objectKey, opening, closing, sha256: stored.sha256 };
}

const NEWLINE = 0x0a;

/** The lines of a stream, without line ends. */
async function* texts(source: Bytes): AsyncGenerator<string, void> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MAX_OBJECT_BYTES) throw corrupt(`it has more than ${MAX_OBJECT_BYTES} bytes when it is decompressed`);
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8");
      [rest, restBytes] = [[], 0];
      from = end + 1;
    }
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)));
    restBytes += chunk.length - from;
    if (restBytes > MAX_LINE_BYTES) throw corrupt(`it has a line of more than ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.length > 0) throw corrupt("its last line has no end");
}

function corrupt(message: string): AgentError {
  return new AgentError("ArchiveCorrupt", message);
}
