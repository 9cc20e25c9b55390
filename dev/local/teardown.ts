import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { insideNetwork, type ProcessId, withEnvironment } from "../proc.ts";
import { linkOf } from "./addresses.ts";
import { instanceCgroup, processesIn, removeCgroup } from "./cgroups.ts";
import { endAll } from "./ending.ts";
import { currentMounts, unmountBelow } from "./mounts.ts";
import { removeLink } from "./network.ts";
import { RUN_ROOT, releaseSlot, type SlotRecord, TOKEN_VARIABLE } from "./slots.ts";

/**
 * Ends and removes everything of an instance except its state folder. Only the slot's record is needed, so a teardown
 * works after a killed `up` or `down` and without the state folder. The record is removed last, so that a killed
 * teardown can be repeated.
 */
export async function tearDown(record: SlotRecord): Promise<void> {
  const runFolder = join(RUN_ROOT, String(record.slot));
  await endAll(() => processesOf(record, runFolder), join(runFolder, "ending.json"));
  await removeLink(linkOf(record.slot).hostDevice);
  await unmountBelow(runFolder);
  await unmountBelow(record.folder);
  await removeCgroup(instanceCgroup(record.slot));
  rmSync(runFolder, { recursive: true, force: true });
  releaseSlot(record.slot);
}

/**
 * Processes with the instance's token, in its cgroups (containers have no token), or in its network. The latter are
 * such as a shell of `exec`, or tests of a killed command: they would keep the network alive.
 */
function processesOf(record: SlotRecord, runFolder: string): ProcessId[] {
  return [
    ...withEnvironment(TOKEN_VARIABLE, record.token),
    ...processesIn(instanceCgroup(record.slot)),
    ...networksBelow(runFolder).flatMap((inode) => insideNetwork(inode)),
  ];
}

/** Inode numbers of the network namespaces that are mounted below the folder: one, or none before it is made. */
function networksBelow(folder: string): number[] {
  const points = currentMounts().filter(({ point, type }) => type === "nsfs" && point.startsWith(`${folder}/`));
  return points.map(({ point }) => statSync(point).ino);
}
