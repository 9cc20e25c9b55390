import type { Election, Term } from "./lease.ts";

// Why two leases?
//   The one of the whole Kubernetes cluster keeps installations in different namespaces apart: each watches the EtcdClusters of all
//   namespaces. The one in the operator's own namespace is what releases before it know: while one of them is replaced, or comes back
//   because an update is taken back, the old and the new process must not act at once. docs/adr/0011-one-operator-per-kubernetes-cluster.md
// Why the own one first? Only processes of one installation contend for it, always in this order: nobody waits in a circle.
// Why is the other one watched meanwhile? A dead leader held both. Seen only after the first was won, its lease would have to be waited
//   for a second time.

/** Stands for two elections and leads while it has won both; as `Election`. */
export class LeasePair {
  readonly #own: Election;
  readonly #cluster: Election;

  constructor(own: Election, cluster: Election) {
    this.#own = own;
    this.#cluster = cluster;
  }

  /** Whether nobody else can be leading at this moment. Ask right before every change. */
  mayAct(): boolean {
    return this.#own.mayAct() && this.#cluster.mayAct();
  }

  /**
   * Stands until the signal aborts, then gives both back. A term that ends because the own lease is lost ends as any other.
   * @throws what `onStarted` threw, after giving both back
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
