import type { Clock } from "#base/clock.ts";
import type { Member } from "./choose-member.ts";

// Why is the member asked during the copy?
//   While a snapshot is streamed, etcd keeps a read transaction and cannot reuse pages that writes free. Once the
//   free pages are used up, the file grows up to its quota. Then etcd refuses all writes until a person makes room.

/** Interval in milliseconds. If larger, a busy writer fills the rest of a small quota before it is noticed. */
const ASK_EVERY_MS = 5_000;
/** Limit for one answer, in milliseconds: with a later one, the next question would be late. */
const DEADLINE_MS = 5_000;
/** Share of the quota that a copy may use: the alert for a nearly full database is at the same share. */
const SHARE = 0.8;

/** Sizes in bytes. */
export interface Growth {
  readonly from: number;
  readonly to: number;
  readonly quota: number;
}

/** Aborts when the member's database comes close to its quota during a copy. Before etcd 3.6 the quota is unknown. */
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
    // Nearly full of data, the database may use half of what is left, or it could never be backed up. By the data in
    // use: the file keeps the size that earlier attempts left, and the next one would go further.
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
      // A missing answer ends no backup.
      const now = await source.status({ signal, deadlineMs: DEADLINE_MS }).catch(() => undefined);
      if (signal.aborted) return;
      if (now === undefined || now.dbSizeBytes <= most || now.dbSizeBytes <= from) continue;
      this.growth = { from, to: now.dbSizeBytes, quota };
      this.#controller.abort();
      return;
    }
  }
}
