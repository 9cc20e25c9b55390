/**
 * Processor time of this thread for `work`, in milliseconds. Other processes and V8's own threads do not count. For
 * synchronous work it is the time for which the event loop is blocked.
 */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** How long one input may block the event loop, in milliseconds of processor time. The lease is lost after 10 s. */
export const MAX_BLOCKED_MS = 200;

/** How much memory the process may take, in MB of resident memory. The operator's container has 512 MiB. */
export const MAX_MEMORY_MB = 300;

/** The longest time for which `work` blocks the event loop, in milliseconds of this thread's processor time. */
export async function longestBlockMs(work: () => Promise<unknown>): Promise<number> {
  const now = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longest = 0;
  let before = now();
  const look = (): void => {
    const at = now();
    longest = Math.max(longest, at - before);
    before = at;
  };
  let next: NodeJS.Immediate | undefined;
  const tick = (): void => {
    look();
    next = setImmediate(tick);
  };
  next = setImmediate(tick);
  try {
    await work();
    look();
  } finally {
    clearImmediate(next);
  }
  return longest;
}

/** The cost for a child process since the last request for it. */
export interface Cost {
  /** The longest turn of the event loop, in milliseconds of its processor time. */
  readonly blockedMs: number;
  /** The longest delay of a timer of 10 ms, in milliseconds: other work on the machine counts. */
  readonly lateMs: number;
  /** Peak resident memory of the process, in MB. */
  readonly peakMb: number;
}
