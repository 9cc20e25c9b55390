import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** When people put clusters to sleep and woke them, in world time, by uid of the EtcdCluster. */
export class SleepMemory {
  /** When nobody was wanted last; now, while that lasts. */
  readonly #untilMs = new Map<string, number>();
  readonly #wokenMs = new Map<string, number>();

  note(before: EtcdCluster | undefined, after: EtcdCluster, nowMs: number): void {
    const { uid } = after.metadata;
    if (after.spec.replicas === 0) this.#untilMs.set(uid, Number.POSITIVE_INFINITY);
    else if (before?.spec.replicas === 0) {
      this.#untilMs.set(uid, nowMs);
      // Who was woken before, and is wanted again before anybody has heard that nobody was, has not slept in between.
      const sleep = after.status?.sleep;
      if (sleep !== undefined && sleep.wokenAt === undefined) this.#wokenMs.set(uid, nowMs);
    }
  }

  /** How long ago, in milliseconds, nobody was wanted last; infinite when that never was so. */
  askedMsAgo(uid: string, nowMs: number): number {
    return nowMs - (this.#untilMs.get(uid) ?? Number.NEGATIVE_INFINITY);
  }

  /** How long ago it was woken, in milliseconds, and when; infinite when it never was. */
  wokenMs(uid: string): number {
    return this.#wokenMs.get(uid) ?? Number.NEGATIVE_INFINITY;
  }
}
