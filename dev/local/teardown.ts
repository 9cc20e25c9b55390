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
 * Ends and removes everything of an instance but its state folder. It needs nothing but the slot's record, so it works
 * after an `up` or a `down` that was killed anywhere, and when the state folder is gone. The record goes last: as long as
 * anything is left, the next one finds it.
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
 * What carries our token; what lives in our cgroups: the containers, whose environment is their own; and what lives in our
 * network, such as a shell of `exec` or tests whose command was killed: the network would live on with it, and lead nowhere.
 */
function processesOf(record: SlotRecord, runFolder: string): ProcessId[] {
  return [
    ...withEnvironment(TOKEN_VARIABLE, record.token),
    ...processesIn(instanceCgroup(record.slot)),
    ...networksBelow(runFolder).flatMap((inode) => insideNetwork(inode)),
  ];
}

/** Inode numbers of the network namespaces that are mounted below the folder: one, or none when it was not made yet. */
function networksBelow(folder: string): number[] {
  const points = currentMounts().filter(({ point, type }) => type === "nsfs" && point.startsWith(`${folder}/`));
  return points.map(({ point }) => statSync(point).ino);
}
