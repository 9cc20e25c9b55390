import { createHash } from "node:crypto";
import { AgentError } from "../error.ts";

/** A 256-bit key, and an ID that identifies it without revealing it. */
export interface EncryptionKey {
  readonly bytes: Buffer;
  /** 8 hexadecimal digits. */
  readonly id: string;
}

const KEY_BYTES = 32;
/** Separates the ID from other hashes of the key. */
const ID_CONTEXT = "etcd-cluster-operator key id";

/**
 * Reads a key.
 * @param content the raw bytes, or hexadecimal or base64 text with optional white space around it
 * @param where names the key in the error message, which never contains the content
 * @throws AgentError BadKey
 */
export function readKey(content: Uint8Array, where: string): EncryptionKey {
  const bytes =
    content.length === KEY_BYTES ? Buffer.from(content) : decoded(Buffer.from(content).toString("latin1").trim());
  if (bytes?.length !== KEY_BYTES) {
    const may = `it must be ${KEY_BYTES} bytes, or their text in hexadecimal or base64`;
    throw new AgentError("BadKey", `${where} holds ${content.length} bytes that are no key; ${may}`);
  }
  const id = createHash("sha256").update(ID_CONTEXT).update(bytes).digest("hex").slice(0, 8);
  return { bytes, id };
}

function decoded(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, "base64");
  return undefined;
}
