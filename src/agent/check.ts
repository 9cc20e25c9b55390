import type { ObjectStore } from "#objectstore/store.ts";
import { manifestKeyOf } from "./archive/manifest.ts";
import { AgentError } from "./error.ts";
import { checkManifest } from "./restore/expected.ts";
import { readStored } from "./stored.ts";
import type { CheckTask } from "./task.ts";

/**
 * Checks that the object has the size in its manifest, and that the manifest is this backup's. The object's bytes are
 * not read.
 * @throws AgentError NoSuchObject or SnapshotCorrupt when the backup is gone; StoreError when the store cannot answer
 */
export async function checkStored(
  { key, expect }: Pick<CheckTask, "key" | "expect">,
  store: ObjectStore,
  signal: AbortSignal,
): Promise<void> {
  const { object, manifest } = await readStored(store, key, signal);
  if (object === undefined) {
    const rest = manifest === undefined ? "" : "; only its manifest exists";
    throw new AgentError("NoSuchObject", `there is no object ${key}${rest}`);
  }
  if (manifest === undefined) {
    throw new AgentError("NoSuchObject", `the manifest ${manifestKeyOf(key)} is gone; only the object exists`);
  }
  checkManifest(manifest, object, { expect, auth: "Keep" });
}
