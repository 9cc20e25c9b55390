import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { withLock } from "../lock.ts";
import { linkOf, SLOTS } from "./addresses.ts";

// Why slots? Names that the whole machine shares (the link's device and addresses, the cgroups) must differ between
// instances, also between those of different clones. A slot is a small number from which all of them follow.
// Why a token? Every process that we start carries it in its environment, so that it is known to be ours whatever
// happened since: `up` killed between starting and noting it, its parent gone, the state folder deleted.

export const RUN_ROOT = "/run/etcd-cluster-operator";
const SLOTS_FOLDER = join(RUN_ROOT, "slots");

/** Environment variable that marks a process as one that we started. */
export const TOKEN_VARIABLE = "ECO_LOCAL_TOKEN";

export interface SlotRecord {
  /** 0 to SLOTS - 1. */
  readonly slot: number;
  readonly token: string;
  /** The state folder that the slot was given to. */
  readonly folder: string;
}

/** The slot of a state folder; undefined when it has none. */
export function slotFor(folder: string): SlotRecord | undefined {
  return takenSlots().find((record) => record.folder === folder);
}

/** Every slot that is taken on this machine, also by other clones. */
export function takenSlots(): SlotRecord[] {
  return Array.from({ length: SLOTS }, (_, slot) => readSlot(slot)).filter((record) => record !== undefined);
}

/**
 * Gives the state folder a slot: the one that it has, or else a free one.
 * @param reclaim takes away what is left of an instance whose state folder is gone
 * @throws Failure when all are taken
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
        `all ${SLOTS} slots of this machine are taken, by: ${folders.join(", ")}; take one of these down`,
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

/** Free: nobody has it, and the host uses neither its device name nor its addresses for something else. */
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
