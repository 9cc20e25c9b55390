import type { ObjectStore } from "#objectstore/store.ts";
import { manifestKeyOf } from "./archive/manifest.ts";
import { AgentError } from "./error.ts";
import { readStored, UID_METADATA } from "./stored.ts";
import type { DeleteTask } from "./task.ts";

/**
 * Deletes what this backup stored, and nothing of anybody else's.
 * @returns whether there was something
 */
export async function deleteBackup(task: DeleteTask, store: ObjectStore, signal: AbortSignal): Promise<boolean> {
  const { key, backupUID } = task;
  const { object, manifest } = await readStored(store, key, signal).catch(async (thrown: unknown) => {
    if (!(thrown instanceof AgentError)) throw thrown;
    // What is no manifest is not ours, and stays.
    return { object: await store.head(key, { signal }), manifest: undefined };
  });
  const isOurManifest = manifest?.backupUID === backupUID;
  // A volume that was copied may have lost the metadata; then it is the manifest's word.
  const uid = object?.metadata[UID_METADATA] ?? manifest?.backupUID;
  const isOurObject = object !== undefined && uid === backupUID;
  // The manifest first: an object without one is no backup, should we come no further.
  if (isOurManifest) await store.delete(manifestKeyOf(key), { signal });
  if (isOurObject) await store.delete(key, { signal });
  return isOurManifest || isOurObject;
}
