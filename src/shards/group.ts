import type { GroupLease } from "./group-lease.ts";

/**
 * Processes that agree on what belongs to which shard, by the leases that they hold together. In which order leases are asked for is the same for
 * everybody, so nobody waits in a circle (kube/lease-pair.ts): each only while all before it are held.
 */
export class Group {
  readonly #leases: readonly GroupLease[];

  /** @param leases one or more, in the order in which they are asked for */
  constructor(leases: readonly GroupLease[]) {
    this.#leases = leases;
  }

  /** Whether nobody outside of the group can be acting at this moment. Ask right before every change. */
  mayAct(): boolean {
    return this.#leases.every((lease) => lease.mayAct());
  }

  /** Processes that go on, as far as is seen. @param forMs only those that came so long ago, or earlier; in milliseconds */
  alive(forMs = 0): readonly string[] {
    return this.#leases[0]?.alive(forMs) ?? [];
  }

  /** Holds the leases, whenever they can be had, until all work has ended; then lets go of them. @throws what `work` threw */
  async during(work: () => Promise<void>): Promise<void> {
    const ended = new AbortController();
    const isTurnOf = (index: number) => () => this.#leases.slice(0, index).every((lease) => lease.mayAct());
    const held = this.#leases.map((lease, index) => lease.run(ended.signal, isTurnOf(index)));
    try {
      await work();
    } finally {
      ended.abort();
      await Promise.all(held); // A process that has struck itself out must not count on.
      await Promise.all(this.#leases.map((lease) => lease.leave())); // None waits for another one's answer.
    }
  }
}
