// The provisioner of the StorageClass `local`, as a program: node provisioner.ts KUBECONFIG FOLDER-OF-THE-NODES
// READY-FILE. It writes its PID to READY-FILE once the API server answers. For each claim it makes a folder and a
// `local` PersistentVolume. Unlike a hostPath volume, the kubelet gives such a volume to the pod's fsGroup.

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Api, type KubeObject } from "./api.ts";
import {
  type Claim,
  FINALIZER,
  fateOf,
  nodeOf,
  nodeToProvisionOn,
  type Volume,
  volumeFor,
  volumeName,
} from "./volumes.ts";

/** Pause after a failed list or watch, in milliseconds: short, as the API server is on this machine. */
const TRY_AGAIN_MS = 200;
const WATCH_SECONDS = 300;
const VOLUMES = "/api/v1/persistentvolumes";
const CLAIMS = "/api/v1/persistentvolumeclaims";

const [kubeconfig, nodesFolder, readyFile] = process.argv.slice(2);
if (kubeconfig === undefined || nodesFolder === undefined || readyFile === undefined) {
  throw new Error("The provisioner needs three arguments: KUBECONFIG FOLDER READY-FILE");
}
const api = new Api(kubeconfig);

await api.must("GET", `${VOLUMES}?limit=1`);
writeFileSync(readyFile, String(process.pid));
await Promise.all([
  follow<Claim>(CLAIMS, (claim) => provision(api, nodesFolder, claim)),
  follow<Volume>(VOLUMES, (volume) => reclaim(api, nodesFolder, volume)),
]);

/** Calls `react` with every object, and with each of its changes. After a failure all objects are listed again. */
async function follow<T extends KubeObject>(path: string, react: (object: T) => Promise<void>): Promise<never> {
  for (;;) {
    try {
      const { body } = await api.must("GET", path);
      const list = body as { metadata: { resourceVersion: string }; items: T[] };
      const failed = new AbortController();
      const reactTo = (object: T) => {
        react(object).catch((thrown) => failed.abort(thrown));
      };
      for (const object of list.items) reactTo(object);
      const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${list.metadata.resourceVersion}`;
      for await (const event of api.watch(`${path}?${query}`, failed.signal)) {
        if (event.type === "ERROR") throw new Error(`watch of ${path}: ${JSON.stringify(event.object)}`);
        if (event.type === "ADDED" || event.type === "MODIFIED") reactTo(event.object as T);
      }
    } catch (thrown) {
      console.error(`${new Date().toISOString()} ${path}: ${thrown instanceof Error ? thrown.message : thrown}`);
      await sleep(TRY_AGAIN_MS);
    }
  }
}

async function provision(api: Api, nodesFolder: string, claim: Claim): Promise<void> {
  const node = nodeToProvisionOn(claim);
  if (node === undefined) return;
  // Only root may write until the kubelet has given the folder to the pod's group.
  mkdirSync(join(nodesFolder, node, "volumes", volumeName(claim)), { recursive: true, mode: 0o755 });
  // 409: an earlier event has made it already.
  const { status } = await api.must("POST", VOLUMES, volumeFor(claim, node), [409]);
  if (status !== 409)
    say(`made ${volumeName(claim)} on ${node} for ${claim.metadata.namespace}/${claim.metadata.name}`);
}

async function reclaim(api: Api, nodesFolder: string, volume: Volume): Promise<void> {
  const { name, uid } = volume.metadata;
  const path = `${VOLUMES}/${name}`;
  switch (fateOf(volume)) {
    case "keep":
      return;
    case "delete":
      await api.must("DELETE", path, { preconditions: { uid } }, [404, 409]);
      return;
    case "erase":
      await erase(nodesFolder, volume);
      await api.must("PATCH", path, withoutFinalizer(volume), [404, 409]);
      say(`erased ${name}`);
  }
}

/** Removes the volume's data. The folder is renamed first, so that its name is free at once. */
async function erase(nodesFolder: string, volume: Volume): Promise<void> {
  const node = nodeOf(volume);
  if (node === undefined) return;
  const folder = join(nodesFolder, node, "volumes", volume.metadata.name);
  const doomed = `${folder}.erased`;
  try {
    renameSync(folder, doomed);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown; // already renamed, for an earlier event
  }
  await rm(doomed, { recursive: true, force: true });
}

function withoutFinalizer(volume: Volume) {
  const { resourceVersion, finalizers } = volume.metadata;
  return { metadata: { resourceVersion, finalizers: finalizers?.filter((each) => each !== FINALIZER) } };
}

function say(sentence: string): void {
  console.log(`${new Date().toISOString()} ${sentence}`);
}
