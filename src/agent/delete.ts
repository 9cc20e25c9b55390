import type { ObjectStore } from "#objectstore/store.ts";
import { manifestKeyOf } from "./archive/manifest.ts";
import { AgentError } from "./error.ts";
import { readStored, UID_METADATA } from "./stored.ts";
import type { DeleteTask } from "./task.ts";

/**
 * Deletes what this backup stored, and nothing of another backup.
 * @returns whether anything was deleted
 */
export async function deleteBackup(task: DeleteTask, store: ObjectStore, signal: AbortSignal): Promise<boolean> {
  const { key, backupUID } = task;
  const { object, manifest } = await readStored(store, key, signal).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AgentError)) throw thrown;
    // An invalid manifest is not this backup's, and stays.
    return { object: await store.head(key, { signal }), manifest: undefined };
  });
  const isOurManifest = manifest?.backupUID === backupUID;
  // A copied volume may have lost the metadata; then the manifest's uid counts.
  const uid = object?.metadata[UID_METADATA] ?? manifest?.backupUID;
  const isOurObject = object !== undefined && uid === backupUID;
  // The manifest first: after an interruption, an object without manifest is no backup.
  if (isOurManifest) await store.delete(manifestKeyOf(key), { signal });
  if (isOurObject) await store.delete(key, { signal });
  return isOurManifest || isOurObject;
}
