import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Api } from "./api.ts";
import type { Instance } from "./instance.ts";
import { inside } from "./network.ts";
import { type ProcessTable, waitReady } from "./processes.ts";
import { STORAGE_CLASS_OBJECT } from "./storage.ts";

/** Creates the default StorageClass and starts its provisioner. */
export async function ensureStorage(instance: Instance, table: ProcessTable, api: Api): Promise<void> {
  const readyFile = join(instance.config, "provisioner.ready");
  const program = [process.execPath, join(import.meta.dirname, "provisioner.ts")];
  const args = [join(instance.config, "provisioner.kubeconfig"), join(instance.folder, "nodes"), readyFile];
  const provisioner = await table.ensure("provisioner", inside(instance, [...program, ...args]));
  await api.must("POST", "/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS_OBJECT, [409]);
  await waitReady(provisioner, () => {
    const isReady = existsSync(readyFile) && Number(readFileSync(readyFile, "utf8")) === provisioner.pid;
    return isReady ? undefined : "the provisioner has not listed the volumes";
  });
}
