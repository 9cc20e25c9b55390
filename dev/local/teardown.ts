import { rmSync } from "node:fs";
import { join } from "node:path";
import { type ProcessId, withEnvironment } from "../proc.ts";
import { linkOf } from "./addresses.ts";
import { instanceCgroup, processesIn, removeCgroup } from "./cgroups.ts";
import { restoreLimits } from "./limits.ts";
import { unmountBelow } from "./mounts.ts";
import { removeLink } from "./network.ts";
import { kill } from "./processes.ts";
import { RUN_ROOT, releaseSlot, type SlotRecord, TOKEN_VARIABLE } from "./slots.ts";

/**
 * Ends and removes everything of an instance but its state folder. It needs nothing but the slot's record, so it works
 * after an `up` that was killed anywhere, and when the state folder is gone.
 */
export async function tearDown(record: SlotRecord): Promise<void> {
  // Programs of a dying node may start one more while we look: look until there is none.
  for (let ours = processesOf(record); ours.length > 0; ours = processesOf(record)) await kill(ours);
  await removeLink(linkOf(record.slot).hostDevice);
  const runFolder = join(RUN_ROOT, String(record.slot));
  await unmountBelow(runFolder);
  await unmountBelow(record.folder);
  await removeCgroup(instanceCgroup(record.slot));
  rmSync(runFolder, { recursive: true, force: true });
  releaseSlot(record.slot);
  restoreLimits();
}

/** What carries our token, and what lives in our cgroups: the containers, whose environment is their own. */
function processesOf(record: SlotRecord): ProcessId[] {
  const ours = [...withEnvironment(TOKEN_VARIABLE, record.token), ...processesIn(instanceCgroup(record.slot))];
  return [...new Map(ours.map((each) => [each.pid, each])).values()];
}
