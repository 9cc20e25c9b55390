// Actions on one node of a running instance.

import { existsSync } from "node:fs";
import { Failure } from "../failure.ts";
import { type Step, silentStep } from "../progress.ts";
import { Api } from "./api.ts";
import { type Binaries, ensureBinaries, ensureNode, ensureNodeImages, environmentKubeconfig } from "./cluster.ts";
import { type Instance, needInstance, nodesOf, withInstanceLock } from "./instance.ts";
import { cutPower, ensureRuntime, loadImage, nodeName } from "./node.ts";
import { heal, partition } from "./partition.ts";
import { tableOf } from "./processes.ts";

/** Cuts the node's power: kubelet, runtime and containers end at once, without notice. Its volumes are kept. */
export async function stopNode(name: string, node: number, step: Step): Promise<void> {
  await onNode(name, node, async (instance) => {
    await step(`${nodeName(node)} stopped`, () => cutPower(instance, tableOf(instance), node));
  });
}

/** Boots a stopped node and waits until it is Ready. Does nothing to a running node. */
export async function startNode(name: string, node: number, step: Step): Promise<void> {
  const binaries = await ensureBinaries(step);
  const images = await ensureNodeImages(binaries, step);
  await onNode(name, node, async (instance) => {
    const api = new Api(environmentKubeconfig(instance));
    try {
      await step(`${nodeName(node)} ready`, async () => {
        const table = tableOf(instance);
        await ensureRuntime(instance, table, binaries, node, images);
        await ensureNode(instance, table, binaries, node, api);
      });
    } finally {
      await api.close();
    }
  });
}

/** Cuts the node off from everything else, as partition.ts explains. */
export async function partitionNode(name: string, node: number, step: Step): Promise<void> {
  await onNode(name, node, async (instance) => {
    await step(`${nodeName(node)} cut off`, () => partition(instance, node));
  });
}

/** Ends the partition of the node. */
export async function healNode(name: string, node: number, step: Step): Promise<void> {
  await onNode(name, node, async (instance) => {
    await step(`${nodeName(node)} connected`, () => heal(instance, node));
  });
}

export const ARCHIVE_LOADED = "image loaded into the nodes";

/** Loads an image archive (OCI or Docker) into every running node. */
export async function loadArchive(name: string, archive: string, step: Step): Promise<void> {
  if (!existsSync(archive)) throw new Failure(`There is no file ${archive}.`);
  const binaries: Binaries = await ensureBinaries(silentStep);
  const instance = needInstance(name);
  const table = tableOf(instance);
  const nodes = nodesOf(instance).filter((node) => table.running(nodeName(node)) !== undefined);
  await step(ARCHIVE_LOADED, async (note) => {
    note(`${archive}, into ${nodes.length} nodes`);
    await Promise.all(nodes.map((node) => loadImage(table, binaries, node, archive)));
  });
}

async function onNode(name: string, node: number, work: (instance: Instance) => Promise<void>): Promise<void> {
  const instance = needInstance(name);
  const nodes = nodesOf(instance);
  if (!nodes.includes(node))
    throw new Failure(`There is no node ${node}; the instance has nodes 1 to ${nodes.length}.`);
  await withInstanceLock(name, () => work(instance));
}
