import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { withLock } from "../lock.ts";
import { linkOf, SLOTS } from "./addresses.ts";

// Why slots?
//   Names that the whole machine shares must differ between instances, also those of different clones. Such are the
//   link's device and addresses, and the cgroups. All of them derive from the slot, a small number.
// Why a token?
//   Every process of an instance has it in its environment, and so can be recognized in any case. Cases are a kill of
//   `up` before the process was recorded, the end of its parent, and a missing state folder.

export const RUN_ROOT = "/run/etcd-cluster-operator";
const SLOTS_FOLDER = join(RUN_ROOT, "slots");

/** Environment variable with the token of an instance's processes. */
export const TOKEN_VARIABLE = "ECO_LOCAL_TOKEN";

export interface SlotRecord {
  /** 0 to SLOTS - 1. */
  readonly slot: number;
  readonly token: string;
  /** State folder of the instance that has the slot. */
  readonly folder: string;
}

/** Slot of a state folder; undefined when it has none. */
export function slotFor(folder: string): SlotRecord | undefined {
  return takenSlots().find((record) => record.folder === folder);
}

/** Slots that are taken on this machine, also by other clones. */
export function takenSlots(): SlotRecord[] {
  return Array.from({ length: SLOTS }, (_, slot) => readSlot(slot)).filter((record) => record !== undefined);
}

/**
 * Slot of the state folder, which is taken from the free ones when it has none.
 * @param reclaim removes the rest of an instance without a state folder
 * @throws Failure when all slots are taken
 */
export function takeSlot(folder: string, reclaim: (record: SlotRecord) => Promise<void>): Promise<SlotRecord> {
  return withLock(join(RUN_ROOT, "slots.lock"), async () => {
    const own = slotFor(folder);
    if (own !== undefined) return own;
    for (const record of takenSlots()) {
      if (!existsSync(record.folder)) await reclaim(record);
    }
    const slot = Array.from({ length: SLOTS }, (_, each) => each).find((each) => isFree(each));
    if (slot === undefined) {
      const folders = takenSlots().map((record) => record.folder);
      throw new Failure(
        `All ${SLOTS} slots of this machine are taken. Take one of these instances down: ${folders.join(", ")}`,
      );
    }
    const record: SlotRecord = { slot, token: randomUUID(), folder };
    mkdirSync(SLOTS_FOLDER, { recursive: true });
    writeFileSync(`${slotFile(slot)}.draft`, JSON.stringify(record));
    renameSync(`${slotFile(slot)}.draft`, slotFile(slot));
    return record;
  });
}

export function releaseSlot(slot: number): void {
  rmSync(`${slotFile(slot)}.draft`, { force: true }); // of a command that was killed while it took the slot
  rmSync(slotFile(slot), { force: true });
}

/** Whether the slot is free: it has no record, and the host uses neither its device name nor its addresses. */
function isFree(slot: number): boolean {
  if (readSlot(slot) !== undefined) return false;
  const { hostDevice, hostAddress, insideAddress } = linkOf(slot);
  const interfaces = Object.entries(networkInterfaces());
  return !interfaces.some(
    ([device, addresses]) =>
      device === hostDevice || addresses?.some(({ address }) => address === hostAddress || address === insideAddress),
  );
}

function readSlot(slot: number): SlotRecord | undefined {
  const file = slotFile(slot);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as SlotRecord) : undefined;
}

function slotFile(slot: number): string {
  return join(SLOTS_FOLDER, `${slot}.json`);
}
