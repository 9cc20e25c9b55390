import { readFile } from "node:fs/promises";
import { AgentError } from "../error.ts";
import type { Encryption } from "../task.ts";
import { type EncryptionKey, readKey } from "./key.ts";

/** @throws AgentError BadKey when the file is missing, is no key, or holds a key with another ID */
export async function keyFrom({ keyFile, keyID }: Encryption): Promise<EncryptionKey> {
  const content = await readFile(keyFile).catch((thrown: Error) => {
    throw new AgentError("BadKey", `the key cannot be read: ${thrown.message}`, { cause: thrown });
  });
  const key = readKey(content, keyFile);
  if (keyID === undefined || key.id === keyID) return key;
  throw new AgentError("BadKey", `${keyFile} holds the key ${key.id}; it must be the key ${keyID}`);
}
