/**
 * Interval of reading the thread's processor time, in milliseconds. Well below MAX_BLOCKED_MS, so that one reading
 * covers about one input.
 */
const EVERY_MS = 5;

/**
 * Measures how long the event loop of this process is blocked, in processor time of the thread, and the process's
 * memory.
 */
export class LoopWatch {
  #mostMs = 0;
  #mostMb = 0;
  #before = process.threadCpuUsage();
  readonly #timer = setInterval(() => this.#look(), EVERY_MS);

  /** The longest time and the most memory since the last call. */
  take(): { readonly blockedMs: number; readonly rssMb: number } {
    this.#look();
    const taken = { blockedMs: Math.round(this.#mostMs), rssMb: Math.round(this.#mostMb) };
    this.#mostMs = 0;
    this.#mostMb = 0;
    return taken;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { user, system } = process.threadCpuUsage(this.#before);
    this.#before = process.threadCpuUsage();
    this.#mostMs = Math.max(this.#mostMs, (user + system) / 1_000);
    this.#mostMb = Math.max(this.#mostMb, process.memoryUsage.rss() / 1e6);
  }
}
