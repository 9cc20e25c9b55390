import type { Clock } from "#base/clock.ts";
import type { ObjectStore, StoredObject } from "#objectstore/store.ts";
import { type Manifest, manifestKeyOf, readManifest } from "./archive/manifest.ts";
import { AgentError } from "./error.ts";
import { isStoreError } from "./store-error.ts";

// Which backup does an object belong to?
//   Object and manifest both contain the uid of their EtcdBackup and the ID of the attempt that wrote them. Objects
//   with another uid, or without one, are never touched. A killed attempt leaves an object without a manifest, which is
//   no backup: the next attempt of the same EtcdBackup deletes it.
// Why the attempt's ID?
//   A Job may start a second pod while the first still runs on an unreachable node. The ID prevents that the manifest
//   of one pod is taken for that of the other's object.

/** Metadata of objects that the agent writes. */
export const UID_METADATA = "backup-uid";
export const ATTEMPT_METADATA = "attempt";

/** Limit in bytes; a manifest has some hundred. */
const MAX_MANIFEST_BYTES = 64 * 1024;

interface Stored {
  readonly object: StoredObject | undefined;
  readonly manifest: Manifest | undefined;
}

/** @throws AgentError SnapshotCorrupt when the manifest is invalid; StoreError */
export async function readStored(store: ObjectStore, key: string, signal: AbortSignal): Promise<Stored> {
  const [object, text] = await Promise.all([store.head(key, { signal }), smallText(store, manifestKeyOf(key), signal)]);
  return { object, manifest: text === undefined ? undefined : readManifest(text, key) };
}

/** Whether object and manifest are complete and of one attempt. */
export function isWhole(stored: Stored): stored is Stored & { readonly manifest: Manifest } {
  const { object, manifest } = stored;
  return (
    object !== undefined &&
    object.bytes === manifest?.storedBytes &&
    object.metadata[ATTEMPT_METADATA] === manifest.attempt
  );
}

/**
 * How long an object may lack its manifest, in milliseconds; a running attempt writes it right away. If smaller, an
 * object that another pod is completing is deleted; if larger, the attempt after a killed one waits longer.
 */
const BETWEEN_WRITES_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Manifest of this backup, if an earlier attempt completed it. Remains of an incomplete attempt are deleted.
 * @throws AgentError ObjectExists when a foreign object has the key; StoreError
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
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined); // After a stop the store's next call fails.
    stored = await readOwn(store, key, backupUID, signal);
  }
  if (isWhole(stored)) return stored.manifest;
  // The manifest first: an object without one is never taken for a backup.
  if (stored.manifest !== undefined) await store.delete(manifestKeyOf(key), { signal });
  if (stored.object !== undefined) await store.delete(key, { signal });
  return undefined;
}

/**
 * Manifest of a concurrent attempt. Nothing is deleted, since that attempt may still run.
 * @throws AgentError AnotherAttempt while it is incomplete, ObjectExists when a foreign object has the key
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
  return new AgentError("AnotherAttempt", `another attempt at this backup has not completed ${key} yet`);
}

/** What this backup has stored. @throws AgentError ObjectExists when a foreign object has the key; StoreError */
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
  const strangers = [manifest?.backupUID, object && (object.metadata[UID_METADATA] ?? "unknown")];
  const stranger = strangers.find((uid) => uid !== undefined && uid !== backupUID);
  if (stranger !== undefined) {
    throw new AgentError(
      "ObjectExists",
      `${key} exists already and belongs to the backup with uid ${stranger}; it is left as it is`,
    );
  }
  return stored;
}

/** Undefined when the object does not exist. */
async function smallText(store: ObjectStore, key: string, signal: AbortSignal): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of store.get(key, { signal })) {
      bytes += part.length;
      if (bytes > MAX_MANIFEST_BYTES) {
        throw new AgentError(
          "SnapshotCorrupt",
          `${key} has more than ${MAX_MANIFEST_BYTES} bytes, too many for a manifest`,
        );
      }
      parts.push(part);
    }
  } catch (thrown) {
    if (isStoreError(thrown, "NoSuchObject")) return undefined;
    throw thrown;
  }
  return Buffer.concat(parts).toString("utf8");
}
