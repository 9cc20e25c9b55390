import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "./failure.ts";
import { identify, isAlive, type ProcessId } from "./proc.ts";

/** How often a waiting process looks again, in milliseconds. */
const LOOK_AGAIN_MS = 100;

export interface LockOptions {
  /** Called once when somebody else holds the lock. */
  readonly onWait?: (holderPid: number) => void;
  /** How long to wait for the holder, in milliseconds. Default: as long as it lives. */
  readonly waitMs?: number;
}

/**
 * Runs `work` while this process holds the lock file. A lock whose holder has ended is broken.
 * @throws Failure when the holder keeps it longer than `waitMs`
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const deadlineMs = performance.now() + (options.waitMs ?? Number.POSITIVE_INFINITY);
  let told = false;
  for (;;) {
    const holder = tryToTake(path);
    if (holder === undefined) break;
    if (!told) options.onWait?.(holder.pid);
    told = true;
    if (performance.now() > deadlineMs) {
      throw new Failure(`${path} is held by process ${holder.pid}, which is still running: wait for it or end it`);
    }
    await sleep(LOOK_AGAIN_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** @returns the process that holds the lock, or undefined when we took it */
function tryToTake(path: string): ProcessId | undefined {
  mkdirSync(dirname(path), { recursive: true });
  // The content is complete before the name exists (link fails when it does), so nobody ever reads half a lock.
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, JSON.stringify(identify(process.pid)));
  try {
    linkSync(draft, path);
    return undefined;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  } finally {
    rmSync(draft, { force: true });
  }
  const holder = readHolder(path);
  if (holder !== undefined && isAlive(holder)) return holder;
  breakStale(path, holder);
  return tryToTake(path);
}

/** The running process that holds the lock; undefined when nobody does. */
export function holderOf(path: string): ProcessId | undefined {
  const holder = readHolder(path);
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

/** Takes a dead process's lock away; when another process was faster and holds it by now, gives it back. */
function breakStale(path: string, stale: ProcessId | undefined): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // somebody else broke it first
  }
  const taken = readHolder(aside);
  if (taken !== undefined && taken.pid !== stale?.pid && isAlive(taken)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

function readHolder(path: string): ProcessId | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as ProcessId;
  } catch {
    return undefined; // released meanwhile, or not a lock of ours: the caller tries again
  }
}
