import type { Election, Term } from "./lease.ts";

// Why two leases?
//   The cluster-wide lease lets only one installation act, since each installation watches the EtcdClusters of all
//   namespaces. The lease in the operator's own namespace is the only one that older releases use. During an update or
//   its rollback it keeps the old and the new process from acting at once.
//   docs/adr/0011-one-operator-per-kubernetes-cluster.md
// Why acquire the own lease first? Every process acquires both in this order, so there is no deadlock.
// Why watch the cluster-wide lease while waiting for the own one? A dead leader held both. If the second were first
//   read after the first was won, its whole duration would have to pass again.

/** Leader election over two leases: leads while it holds both. Same interface as `Election`. */
export class LeasePair {
  readonly #own: Election;
  readonly #cluster: Election;

  constructor(own: Election, cluster: Election) {
    this.#own = own;
    this.#cluster = cluster;
  }

  /** Whether no other process can be the leader now. Check right before every write. */
  mayAct(): boolean {
    return this.#own.mayAct() && this.#cluster.mayAct();
  }

  /**
   * Runs for leader until the signal aborts, then releases both leases. Loss of either lease ends the term.
   * @throws what `onStarted` threw, after releasing both leases
   */
  async run(signal: AbortSignal, term: Term): Promise<void> {
    const won = new AbortController();
    const watched = this.#cluster.watch(AbortSignal.any([signal, won.signal]));
    await this.#own.run(signal, {
      onStarted: async (holding) => {
        won.abort();
        await watched;
        await this.#cluster.run(holding, term);
      },
    });
    await watched;
  }
}
