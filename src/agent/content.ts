import { OperatorError } from "#base/error.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import type { Manifest } from "./archive/manifest.ts";

// What is it for?
//   After a restore a user wants to verify that the backup was complete. So the member reports the number of keys and
//   their hash just before its snapshot. All of it is optional: a missing answer never fails a backup.

/** Reads that describe a member's content. */
export type ContentSource = Pick<SnapshotSource, "keys" | "hashKV" | "authEnabled">;

/** Fields of a manifest that describe the snapshot's content. */
export type Content = Pick<Manifest, "keys" | "hashKV" | "authEnabled">;

/** Deadline of these reads, in milliseconds; they run in parallel, so a backup is delayed by at most this. */
const DEADLINE_MS = 5_000;

/**
 * Largest database that is hashed: the member applies nothing while it reads everything, 0.9 s for 540 MB on two busy
 * cores. Clients should not wait longer for a backup.
 */
const MAX_HASHED_BYTES = 256 * 1024 ** 2;

/**
 * @param revision a revision that the member has applied, so that the snapshot contains it
 * @throws OperatorError Cancelled
 */
export async function contentOf(
  source: ContentSource,
  at: { readonly revision: bigint; readonly dbSizeBytes: number },
  signal: AbortSignal,
): Promise<Content> {
  const options = { signal, deadlineMs: DEADLINE_MS };
  const isHashed = at.dbSizeBytes <= MAX_HASHED_BYTES;
  const [authEnabled, keys, hash] = await Promise.all([
    answerTo(source.authEnabled(options)),
    answerTo(source.keys(at.revision, options)),
    isHashed ? answerTo(source.hashKV(at.revision, options)) : undefined,
  ]);
  return {
    ...(authEnabled === undefined ? {} : { authEnabled }),
    ...(keys === undefined ? {} : { keys }),
    ...(hash === undefined ? {} : { hashKV: { hash: hash.hash, compactRevision: hash.compactRevision.toString() } }),
  };
}

/** Undefined when the member does not answer. */
async function answerTo<T>(request: Promise<T>): Promise<T | undefined> {
  return await request.catch((thrown: unknown) => {
    if (thrown instanceof OperatorError && thrown.code !== "Cancelled") return undefined;
    throw thrown;
  });
}
