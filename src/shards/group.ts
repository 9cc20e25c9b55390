import type { GroupLease } from "./group-lease.ts";

/**
 * Processes with the same assignment of shards, by the leases that they hold together. All processes acquire the leases
 * in the same order, each only while all before it are held, so no circular wait occurs (kube/lease-pair.ts).
 */
export class Group {
  readonly #leases: readonly GroupLease[];

  /** @param leases one or more, in the order of acquisition */
  constructor(leases: readonly GroupLease[]) {
    this.#leases = leases;
  }

  /** Whether no process outside of the group can be acting now. Check right before every write. */
  mayAct(): boolean {
    return this.#leases.every((lease) => lease.mayAct());
  }

  /** Living processes of the group. @param forMs only those that joined at least so long ago, in milliseconds */
  alive(forMs = 0): readonly string[] {
    return this.#leases[0]?.alive(forMs) ?? [];
  }

  /** Acquires and renews the leases until all work has ended; then gives them back. @throws what `work` threw */
  async during(work: () => Promise<void>): Promise<void> {
    const ended = new AbortController();
    const isTurnOf = (index: number) => () => this.#leases.slice(0, index).every((lease) => lease.mayAct());
    const held = this.#leases.map((lease, index) => lease.run(ended.signal, isTurnOf(index)));
    try {
      await work();
    } finally {
      ended.abort();
      await Promise.all(held); // A process that has removed itself must not renew.
      await Promise.all(this.#leases.map((lease) => lease.leave())); // No call waits for the response to another.
    }
  }
}
