import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RUN_ROOT, takenSlots } from "./slots.ts";

const SETTING = "/proc/sys/fs/inotify/max_user_instances";
const BEFORE = join(RUN_ROOT, "inotify-instances.before");

/**
 * Inotify instances that root may have. Debian allows 128, and a Kubernetes of three nodes uses about 35. So the third
 * or fourth at the same time would fail with "too many open files".
 */
const WANTED = 1024;

/** Raises the limit of inotify instances, which several instances at the same time exceed. */
export function raiseLimits(): void {
  const current = read(SETTING);
  if (current >= WANTED) return;
  mkdirSync(RUN_ROOT, { recursive: true });
  if (!existsSync(BEFORE)) writeFileSync(BEFORE, String(current));
  try {
    writeFileSync(SETTING, String(WANTED));
  } catch {
    // Forbidden, as in a container. One instance fits into the limit; with too many, their logs show the error.
  }
}

/** Restores the machine's own limit when the last instance is gone, unless the limit was changed from outside. */
export function restoreLimits(): void {
  if (takenSlots().length > 0 || !existsSync(BEFORE)) return;
  if (read(SETTING) === WANTED) writeFileSync(SETTING, readFileSync(BEFORE, "utf8"));
  rmSync(BEFORE);
}

function read(file: string): number {
  return Number(readFileSync(file, "utf8"));
}
