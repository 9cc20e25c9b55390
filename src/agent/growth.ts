import type { Clock } from "#base/clock.ts";
import type { Member } from "./choose-member.ts";

// Why does the agent poll the member's status during a copy?
//   While etcd streams a snapshot, it holds a read transaction and cannot reuse pages that writes free. When no free
//   page is left, the file grows up to its quota. Then etcd raises NOSPACE and refuses all writes until a person acts.

/**
 * Interval of status requests in milliseconds. If smaller, a busy member gets more requests. If larger, writes may fill
 * the rest of a small quota between two requests.
 */
const ASK_EVERY_MS = 5_000;
/** Deadline of a status request in milliseconds. If larger, a member that hangs delays the next request. */
const DEADLINE_MS = 5_000;
/** Share of the quota up to which the file may grow during a copy; the alert for a full database has the same share. */
const SHARE = 0.8;

/** Sizes in bytes. */
export interface Growth {
  readonly from: number;
  readonly to: number;
  readonly quota: number;
}

/** Aborts a copy when the member's database grows close to its quota. etcd before 3.6 does not report the quota. */
export class GrowthWatch {
  readonly signal: AbortSignal;
  /** Set when the signal aborts. */
  growth: Growth | undefined;
  readonly #controller = new AbortController();
  readonly #stop = new AbortController();

  constructor({ source, status }: Member, clock: Clock) {
    this.signal = this.#controller.signal;
    const { dbSizeBytes: from, dbSizeInUseBytes: inUse, dbSizeQuotaBytes: quota } = status;
    if (quota === undefined) return;
    // With data above SHARE, the file may grow by half of the free quota, or the database could never be backed up. The
    // free quota is computed from the data: the file keeps its size after a failed attempt, and the limit would rise.
    const most = Math.max(quota * SHARE, (inUse + quota) / 2);
    void this.#watch(source, { from, quota }, most, clock).catch(() => undefined); // stopped
  }

  stop(): void {
    this.#stop.abort();
  }

  async #watch(
    source: Member["source"],
    { from, quota }: Omit<Growth, "to">,
    most: number,
    clock: Clock,
  ): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await clock.sleep(ASK_EVERY_MS, signal);
      // A failed status request does not end the backup.
      const now = await source.status({ signal, deadlineMs: DEADLINE_MS }).catch(() => undefined);
      if (signal.aborted) return;
      if (now === undefined || now.dbSizeBytes <= most || now.dbSizeBytes <= from) continue;
      this.growth = { from, to: now.dbSizeBytes, quota };
      this.#controller.abort();
      return;
    }
  }
}
