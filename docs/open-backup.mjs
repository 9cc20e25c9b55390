// Decrypts and decompresses an encrypted object of a backup. It needs only Node 22.15 or later:
//   node open-backup.mjs KEY_FILE < OBJECT > SNAPSHOT      (format: backup-format.md)
import { createDecipheriv, hkdfSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

const SEALED = 65_536 + 16; // a chunk and its tag
const file = readFileSync(process.argv[2]);
const text = file.toString("latin1").trim();
const key = file.length === 32 ? file : Buffer.from(text, text.length === 64 ? "hex" : "base64");
const input = process.stdin[Symbol.asyncIterator]();
let held = Buffer.alloc(0);
async function take(bytes) {
  for (let isEnd = false; held.length <= bytes && !isEnd; ) {
    const { value = Buffer.alloc(0), done } = await input.next();
    held = Buffer.concat([held, value]);
    isEnd = done === true;
  }
  const taken = held.subarray(0, bytes);
  held = held.subarray(bytes); // empty only at the end of the object
  return taken;
}
const header = await take(55);
const fileKey = Buffer.from(hkdfSync("sha256", key, header.subarray(16, 48), "etcd-cluster-operator snapshot", 32));
const nonce = Buffer.concat([header.subarray(48), Buffer.alloc(5)]);
async function decrypted(number) {
  const chunk = await take(SEALED);
  nonce.writeUInt32BE(number, 7);
  nonce[11] = held.length === 0 ? 1 : 0;
  const cipher = createDecipheriv("aes-256-gcm", fileKey, nonce, { authTagLength: 16 }).setAAD(header);
  return Buffer.concat([cipher.setAuthTag(chunk.subarray(-16)).update(chunk.subarray(0, -16)), cipher.final()]);
}
const first = await decrypted(0);
async function* all() {
  yield first;
  for (let number = 1; held.length > 0; number++) yield await decrypted(number);
}
const isCompressed = first.subarray(0, 4).toString("hex") === "28b52ffd";
await pipeline(all, ...(isCompressed ? [createZstdDecompress()] : []), process.stdout);
