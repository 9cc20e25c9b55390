import type { Clock } from "#base/clock.ts";
import type { ObjectStore, StoredObject } from "#objectstore/store.ts";
import { type Manifest, manifestKeyOf, readManifest } from "./archive/manifest.ts";
import { AgentError } from "./error.ts";
import { isStoreError } from "./store-error.ts";

// What lies at a key, and whose is it?
//   An object and its manifest both tell the uid of their EtcdBackup, and which attempt at it wrote them. What another one wrote, or nobody
//   that we know, is never touched. An attempt that was killed leaves an object without a manifest, which is no backup: the next attempt of
//   the same EtcdBackup deletes it and starts anew.
// Why the attempt?
//   A Job may start a second pod while the first one, on a node that nobody reaches, still works. Whatever they do to each other, a
//   manifest is never taken for that of the other one's object.

/** Metadata of what the agent writes. */
export const UID_METADATA = "backup-uid";
export const ATTEMPT_METADATA = "attempt";

/** A manifest has some hundred bytes. */
const MAX_MANIFEST_BYTES = 64 * 1024;

interface Stored {
  readonly object: StoredObject | undefined;
  readonly manifest: Manifest | undefined;
}

/** @throws AgentError SnapshotCorrupt when the manifest is none; StoreError */
export async function readStored(store: ObjectStore, key: string, signal: AbortSignal): Promise<Stored> {
  const [object, text] = await Promise.all([store.head(key, { signal }), smallText(store, manifestKeyOf(key), signal)]);
  return { object, manifest: text === undefined ? undefined : readManifest(text, key) };
}

/** Whether it is all there, by one attempt. */
export function isWhole(stored: Stored): stored is Stored & { readonly manifest: Manifest } {
  const { object, manifest } = stored;
  return (
    object !== undefined &&
    object.bytes === manifest?.storedBytes &&
    object.metadata[ATTEMPT_METADATA] === manifest.attempt
  );
}

/**
 * How long an object may wait for its manifest, in milliseconds: who is at work writes it right away. Too small: what another pod of the
 * same Job completes at this moment is deleted. Too large: the attempt after one that was killed between the two waits for nothing.
 */
const BETWEEN_WRITES_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

/**
 * The manifest of this backup, if a former attempt completed it. What one left that did not is deleted.
 * @throws AgentError ObjectExists when something else lies there; StoreError
 */
export async function formerAttempt(
  store: ObjectStore,
  key: string,
  backupUID: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Manifest | undefined> {
  const untilMs = clock.monotonicMs() + BETWEEN_WRITES_MS;
  let stored = await readOwn(store, key, backupUID, signal);
  while (stored.object !== undefined && !isWhole(stored) && clock.monotonicMs() < untilMs) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined); // Who is told to stop hears so from the store.
    stored = await readOwn(store, key, backupUID, signal);
  }
  if (isWhole(stored)) return stored.manifest;
  // The manifest first: an object without one is never taken for a backup.
  if (stored.manifest !== undefined) await store.delete(manifestKeyOf(key), { signal });
  if (stored.object !== undefined) await store.delete(key, { signal });
  return undefined;
}

/**
 * The manifest of the attempt that was there before us. Nothing is deleted: it may still be at work.
 * @throws AgentError AnotherAttempt while it is not complete, ObjectExists when something else lies there
 */
export async function otherAttempt(
  store: ObjectStore,
  key: string,
  backupUID: string,
  signal: AbortSignal,
): Promise<Manifest> {
  const stored = await readOwn(store, key, backupUID, signal);
  if (isWhole(stored)) return stored.manifest;
  throw inTheWay(key);
}

export function inTheWay(key: string): AgentError {
  return new AgentError("AnotherAttempt", `another attempt at this backup is in the way, and has not completed ${key}`);
}

/** What this backup has stored. @throws AgentError ObjectExists when something else lies there; StoreError */
export async function readOwn(
  store: ObjectStore,
  key: string,
  backupUID: string,
  signal: AbortSignal,
): Promise<Stored> {
  const stored = await readStored(store, key, signal).catch((thrown: unknown) => {
    throw thrown instanceof AgentError ? new AgentError("ObjectExists", thrown.message, { cause: thrown }) : thrown;
  });
  const { object, manifest } = stored;
  const strangers = [manifest?.backupUID, object && (object.metadata[UID_METADATA] ?? "nobody known")];
  const stranger = strangers.find((uid) => uid !== undefined && uid !== backupUID);
  if (stranger !== undefined) {
    throw new AgentError(
      "ObjectExists",
      `${key} is there already, and belongs to the backup with uid ${stranger}; it is left as it is`,
    );
  }
  return stored;
}

/** Undefined when it is not there. */
async function smallText(store: ObjectStore, key: string, signal: AbortSignal): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of store.get(key, { signal })) {
      bytes += part.length;
      if (bytes > MAX_MANIFEST_BYTES) {
        throw new AgentError("SnapshotCorrupt", `${key} has more than ${MAX_MANIFEST_BYTES} bytes; no manifest has`);
      }
      parts.push(part);
    }
  } catch (thrown) {
    if (isStoreError(thrown, "NoSuchObject")) return undefined;
    throw thrown;
  }
  return Buffer.concat(parts).toString("utf8");
}
