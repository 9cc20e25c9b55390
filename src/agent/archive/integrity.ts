import { createHash } from "node:crypto";
import { AgentError } from "../error.ts";
import type { Bytes } from "./bytes.ts";

// What does etcd send?
//   Its database file at that moment, in pages, followed by the SHA-256 of the file
//   (server/etcdserver/api/v3rpc/maintenance.go, `Snapshot`). `etcdutl snapshot restore` verifies this checksum when
//   the size is a multiple of 512 plus 32 bytes.
// Why verify it here already?
//   Corruption in transit should fail the backup while the cluster still exists and can be asked again, not the
//   restore.

const TRAILER_BYTES = 32;
const BLOCK_BYTES = 512;
/** Magic number of a database file, and its place in the first page (go.etcd.io/bbolt, `internal/common/meta.go`). */
const DATABASE_MAGIC = 0xed0cdaed;
const MAGIC_AT = 16;

/** Passes a snapshot through, and throws at its end when etcd's checksum does not match. */
export class SnapshotCheck {
  bytes = 0;
  #sha256: string | undefined;

  /** @throws AgentError SnapshotCorrupt at the end of the stream when the bytes are not what etcd sent */
  async *pass(source: Bytes): AsyncGenerator<Uint8Array, void> {
    const hash = createHash("sha256");
    let tail: Uint8Array = new Uint8Array(0);
    let head = Buffer.alloc(0);
    for await (const chunk of source) {
      if (head.length < MAGIC_AT + 4) head = Buffer.concat([head, chunk.subarray(0, MAGIC_AT + 4)]);
      const kept = Math.max(0, TRAILER_BYTES - chunk.length);
      hash.update(tail.subarray(0, Math.max(0, tail.length - kept)));
      hash.update(chunk.subarray(0, Math.max(0, chunk.length - TRAILER_BYTES)));
      // A copy: the consumer may reuse the chunk once it is yielded.
      tail = Buffer.concat([
        tail.subarray(Math.max(0, tail.length - kept)),
        chunk.subarray(Math.max(0, chunk.length - TRAILER_BYTES)),
      ]);
      this.bytes += chunk.length;
      yield chunk;
    }
    const database = this.bytes - TRAILER_BYTES;
    if (this.bytes % BLOCK_BYTES === 0 && isDatabase(head)) {
      throw corrupt(
        `it is a database file without a checksum, such as a member's member/snap/db. Start etcd with the file, and take a snapshot by etcdctl snapshot save`,
      );
    }
    if (database < BLOCK_BYTES || database % BLOCK_BYTES !== 0) {
      throw corrupt(`${this.bytes} bytes cannot be a database with its checksum; it was cut off, or is no snapshot`);
    }
    if (!hash.copy().digest().equals(tail)) {
      throw corrupt(`its checksum does not match its ${database} bytes; they were changed in transit`);
    }
    this.#sha256 = hash.update(tail).digest("hex");
  }

  /** SHA-256 of the whole snapshot, checksum included, in hexadecimal; available once the stream has ended. */
  get sha256(): string {
    if (this.#sha256 === undefined) throw new Error("the snapshot has not ended");
    return this.#sha256;
  }
}

function isDatabase(head: Buffer): boolean {
  return head.length >= MAGIC_AT + 4 && head.readUInt32LE(MAGIC_AT) === DATABASE_MAGIC;
}

function corrupt(message: string): AgentError {
  return new AgentError("SnapshotCorrupt", `the snapshot is not what etcd sends: ${message}`);
}
