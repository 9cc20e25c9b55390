import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RUN_ROOT, takenSlots } from "./slots.ts";

const SETTING = "/proc/sys/fs/inotify/max_user_instances";
const BEFORE = join(RUN_ROOT, "inotify-instances.before");

/**
 * Inotify instances that root may have. Debian allows 128; an environment of three nodes uses about 35, so the third or
 * fourth at once would fail with "too many open files".
 */
const WANTED = 1024;

/** Raises the one limit of the machine that several environments at once run into. */
export function raiseLimits(): void {
  const current = read(SETTING);
  if (current >= WANTED) return;
  mkdirSync(RUN_ROOT, { recursive: true });
  if (!existsSync(BEFORE)) writeFileSync(BEFORE, String(current));
  try {
    writeFileSync(SETTING, String(WANTED));
  } catch {
    // Not ours to change, as in a container. One environment fits into the limit; one too many says so in its logs.
  }
}

/** Gives the machine its own limit back, when the last environment is gone and nobody else has changed it. */
export function restoreLimits(): void {
  if (takenSlots().length > 0 || !existsSync(BEFORE)) return;
  if (read(SETTING) === WANTED) writeFileSync(SETTING, readFileSync(BEFORE, "utf8"));
  rmSync(BEFORE);
}

function read(file: string): number {
  return Number(readFileSync(file, "utf8"));
}
