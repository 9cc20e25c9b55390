import { OperatorError } from "#base/error.ts";
import type { SnapshotSource } from "#etcd/snapshot-source.ts";
import type { Manifest } from "./archive/manifest.ts";

// What is it for?
//   Whoever restores a backup, to try it or in need, wants to know that everything is there. The member that is read tells it just before:
//   how many keys it has, and their hash. Nothing of it is needed: what a member does not tell is left out, and no backup fails for it.

/** Who can tell. */
export type ContentSource = Pick<SnapshotSource, "keys" | "hashKV" | "authEnabled">;

/** What a manifest says of what is in the snapshot. */
export type Content = Pick<Manifest, "keys" | "hashKV" | "authEnabled">;

/** Asked side by side; a backup begins so much later at most. */
const DEADLINE_MS = 5_000;

/**
 * Above it no hash is asked for: the member applies nothing while it reads everything, which took 0.9 s of 540 MB on two busy cores. That
 * is longer than its clients should wait for a backup.
 */
const MAX_HASHED_BYTES = 256 * 1024 ** 2;

/**
 * @param revision that the member has applied, so that the snapshot will hold it
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
    told(source.authEnabled(options)),
    told(source.keys(at.revision, options)),
    isHashed ? told(source.hashKV(at.revision, options)) : undefined,
  ]);
  return {
    ...(authEnabled === undefined ? {} : { authEnabled }),
    ...(keys === undefined ? {} : { keys }),
    ...(hash === undefined ? {} : { hashKV: { hash: hash.hash, compactRevision: hash.compactRevision.toString() } }),
  };
}

/** Undefined when it is not told. */
async function told<T>(asked: Promise<T>): Promise<T | undefined> {
  return await asked.catch((thrown: unknown) => {
    if (thrown instanceof OperatorError && thrown.code !== "Cancelled") return undefined;
    throw thrown;
  });
}
