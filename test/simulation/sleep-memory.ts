import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/** World times at which people put clusters to sleep and woke them, by uid of the EtcdCluster. */
export class SleepMemory {
  /** When spec.replicas was last 0; infinite while it is. */
  readonly #untilMs = new Map<string, number>();
  readonly #wokenMs = new Map<string, number>();

  note(before: EtcdCluster | undefined, after: EtcdCluster, nowMs: number): void {
    const { uid } = after.metadata;
    if (after.spec.replicas === 0) this.#untilMs.set(uid, Number.POSITIVE_INFINITY);
    else if (before?.spec.replicas === 0) {
      this.#untilMs.set(uid, nowMs);
      // A cluster that was woken before, and is woken again before the operator noticed the sleep, has not slept in
      // between.
      const sleep = after.status?.sleep;
      if (sleep !== undefined && sleep.wakeTime === undefined) this.#wokenMs.set(uid, nowMs);
    }
  }

  /** Milliseconds since spec.replicas was last 0; infinite when it never was. */
  askedMsAgo(uid: string, nowMs: number): number {
    return nowMs - (this.#untilMs.get(uid) ?? Number.NEGATIVE_INFINITY);
  }

  /** World time at which the cluster was last woken; -Infinity when it never was. */
  wokenMs(uid: string): number {
    return this.#wokenMs.get(uid) ?? Number.NEGATIVE_INFINITY;
  }
}
