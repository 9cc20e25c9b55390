import { createHash } from "node:crypto";
import type { ObjectStore } from "#objectstore/store.ts";
import { type Bytes, Tally } from "../archive/bytes.ts";
import type { EncryptionKey } from "../archive/key.ts";
import { decrypted, isEncrypted } from "../archive/seal.ts";
import { looked, refusalOf } from "../archive/unknown.ts";
import { decompressed } from "../archive/zstd.ts";
import { AgentError } from "../error.ts";
import { type Closing, type Line, lineIn, type Opening } from "./line.ts";

/** What remains to be known of an object that was read to its end. */
export interface Ends {
  readonly key: string;
  readonly opening: Opening;
  readonly closing: Closing;
  /** Of the object as it is stored. */
  readonly sha256: string;
}

/** With what an object is read. */
export interface ReadAccess {
  readonly store: Pick<ObjectStore, "get">;
  /** Undefined: objects are not encrypted. */
  readonly key: EncryptionKey | undefined;
  readonly signal: AbortSignal;
}

/**
 * The lines of an object between its opening and its closing; returns these. Only then everything is known to be right.
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

/** Reads an object only for what it is. */
export async function endsOf(key: string, access: ReadAccess): Promise<Ends> {
  const lines = linesOf(key, access);
  for (;;) {
    const { value, done } = await lines.next();
    if (done) return value;
  }
}

async function* checkedLines(objectKey: string, { store, key, signal }: ReadAccess): AsyncGenerator<Line, Ends> {
  const stored = new Tally();
  const bytes = plain(stored.pass(store.get(objectKey, { signal })), key);
  const hash = createHash("sha256");
  let opening: Opening | undefined;
  let closing: Closing | undefined;
  for await (const text of texts(decompressed(bytes))) {
    if (closing !== undefined) throw corrupt("there is more behind its last line");
    const line = lineIn(text);
    if ("sha256" in line) {
      closing = line;
      continue;
    }
    hash.update(`${text}\n`);
    if (opening !== undefined) yield line;
    else if ("format" in line) opening = line;
    else throw corrupt("it does not begin like one of ours");
  }
  if (opening === undefined || closing === undefined) throw corrupt("it is cut off");
  if (hash.digest("hex") !== closing.sha256) throw corrupt("its lines are not those that its last one tells");
  return { key: objectKey, opening, closing, sha256: stored.sha256 };
}

async function* plain(source: Bytes, key: EncryptionKey | undefined): AsyncGenerator<Uint8Array, void> {
  const object = await looked(source);
  const refusal = refusalOf(isEncrypted(object.beginning), key);
  if (refusal !== undefined) {
    await object.end();
    throw refusal;
  }
  yield* key === undefined ? object.all : decrypted(object.all, key);
}

const NEWLINE = 0x0a;

/** What stands between line ends. */
async function* texts(source: Bytes): AsyncGenerator<string, void> {
  let rest: Uint8Array[] = [];
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8");
      rest = [];
      from = end + 1;
    }
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)));
  }
  if (rest.length > 0) throw corrupt("its last line has no end");
}

function corrupt(message: string): AgentError {
  return new AgentError("ArchiveCorrupt", message);
}
