import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "./failure.ts";
import { identify, isAlive, type ProcessId } from "./proc.ts";

/** Interval at which a waiting process tries again, in milliseconds. */
const LOOK_AGAIN_MS = 100;

export interface LockOptions {
  /** Called once when another process holds the lock. */
  readonly onWait?: (holderPid: number) => void;
  /** Longest wait for the holder, in milliseconds. Default: as long as it lives. */
  readonly waitMs?: number;
}

/**
 * Runs `work` while this process holds the lock file. A lock is broken when its holder has ended.
 * @throws Failure when the holder keeps it longer than `waitMs`
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const deadlineMs = performance.now() + (options.waitMs ?? Number.POSITIVE_INFINITY);
  let isReported = false;
  for (;;) {
    const holder = tryToTake(path);
    if (holder === undefined) break;
    if (!isReported) options.onWait?.(holder.pid);
    isReported = true;
    if (performance.now() > deadlineMs) {
      throw new Failure(`${path} is locked by process ${holder.pid}, which is still running. Wait for it, or end it.`);
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
  // The content is complete before the name exists, so no process reads half a lock. link fails when the name exists.
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

/** The running process that holds the lock; undefined when the lock is free. */
export function holderOf(path: string): ProcessId | undefined {
  const holder = readHolder(path);
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

/** Removes the lock of a process that has ended. Puts it back when a running process has taken it in between. */
function breakStale(path: string, stale: ProcessId | undefined): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // another process has broken it first
  }
  const taken = readHolder(aside);
  if (taken !== undefined && taken.pid !== stale?.pid && isAlive(taken)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

function readHolder(path: string): ProcessId | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as ProcessId;
  } catch {
    return undefined; // released in between, or invalid: the caller tries again
  }
}
