import { createHash } from "node:crypto";
import { AgentError } from "../error.ts";
import type { Bytes } from "./bytes.ts";

// What does etcd send?
//   Its database file as it is at that moment, in pages, and behind it the SHA-256 of the file (server/etcdserver/api/v3rpc/maintenance.go,
//   `Snapshot`). `etcdutl snapshot restore` asks the same of the file: a rest of 32 bytes behind whole blocks of 512.
// Why is it asked here already?
//   A backup whose bytes were changed on their way should fail today, while there is a cluster to ask again, and not when it is needed.

const TRAILER_BYTES = 32;
const BLOCK_BYTES = 512;

/** Lets a snapshot pass, and refuses its end when etcd's own checksum differs from what passed. */
export class SnapshotCheck {
  bytes = 0;
  #sha256: string | undefined;

  /** @throws AgentError SnapshotCorrupt when all has passed and is not what etcd sent */
  async *pass(source: Bytes): AsyncGenerator<Uint8Array, void> {
    const hash = createHash("sha256");
    let tail: Uint8Array = new Uint8Array(0);
    for await (const chunk of source) {
      const kept = Math.max(0, TRAILER_BYTES - chunk.length);
      hash.update(tail.subarray(0, Math.max(0, tail.length - kept)));
      hash.update(chunk.subarray(0, Math.max(0, chunk.length - TRAILER_BYTES)));
      // A copy: the chunk is somebody else's as soon as it is handed on.
      tail = Buffer.concat([
        tail.subarray(Math.max(0, tail.length - kept)),
        chunk.subarray(Math.max(0, chunk.length - TRAILER_BYTES)),
      ]);
      this.bytes += chunk.length;
      yield chunk;
    }
    const database = this.bytes - TRAILER_BYTES;
    if (database < BLOCK_BYTES || database % BLOCK_BYTES !== 0) {
      throw corrupt(
        `it has ${this.bytes} bytes, which is no database with a checksum: it was cut off, or is no snapshot`,
      );
    }
    if (!hash.copy().digest().equals(tail)) {
      throw corrupt(`the ${database} bytes before its checksum have another one: they were changed on their way`);
    }
    this.#sha256 = hash.update(tail).digest("hex");
  }

  /** Of the whole snapshot, checksum included, in hexadecimal; only when everything has passed. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error("the snapshot has not ended");
    return this.#sha256;
  }
}

function corrupt(message: string): AgentError {
  return new AgentError("SnapshotCorrupt", `the snapshot is not what etcd sends: ${message}`);
}
