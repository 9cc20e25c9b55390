import type { GroupLease } from "#kube/group-lease.ts";

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

  /** Processes that go on, as far as is seen. */
  get alive(): readonly string[] {
    return this.#leases[0]?.alive ?? [];
  }

  /** Holds the leases whenever they can be had, until the signal aborts; then `leave` is to be called, when all work has stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const isTurnOf = (index: number) => () => this.#leases.slice(0, index).every((lease) => lease.mayAct());
    await Promise.all(this.#leases.map((lease, index) => lease.run(signal, isTurnOf(index))));
  }

  async leave(): Promise<void> {
    for (const lease of this.#leases.toReversed()) await lease.leave();
  }
}
