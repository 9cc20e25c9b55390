import { BACKUP_LABEL } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { countRunning, isFull, isRunning, OPEN, OPEN_INDEX, type Running, YOUNG_MS } from "#backup/running.ts";
import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import type { Job } from "#kube/kinds.ts";
import { type CacheView, type Key, keyText } from "#runtime/controller.ts";

interface TurnReads {
  readonly jobs: CacheView<Job>;
  readonly backups: CacheView<EtcdBackup>;
  readonly clock: Clock;
  readonly runningBackups: number;
}

/** Counts running backups. Jobs that this shard has created count before the cache shows them. */
export class Turns {
  readonly #reads: TurnReads;
  /** New Jobs that the cache does not show yet, and the time of their creation. At most `runningBackups`. */
  readonly #created = new Map<string, { readonly job: Key; readonly atMs: number }>();

  constructor(reads: TurnReads) {
    this.#reads = reads;
  }

  /** Running backups, as an EtcdBackup of this namespace sees them. */
  running(namespace: string): Running {
    const { jobs, backups, clock, runningBackups: most } = this.#reads;
    const nowMs = clock.wallMs();
    const seen = jobs.byIndex(OPEN_INDEX, OPEN).filter((job) => {
      const { namespace = "", labels } = job.metadata;
      return isRunning(job, backups.get({ namespace, name: labels?.[BACKUP_LABEL] ?? "" }, "known"), nowMs);
    });
    this.#forget();
    const unseen = [...this.#created.values()].map(({ job }) => job);
    const namespaces = [...seen.map(({ metadata }) => metadata.namespace), ...unseen.map((each) => each.namespace)];
    return countRunning(namespaces, namespace, most);
  }

  /**
   * Creates a Job of this key, unless other backups have taken all places since the decision. From the check until
   * the call of `create` nothing else runs.
   */
  async take<T>({ namespace, name }: Key, create: () => Promise<T>): Promise<T> {
    const job = { namespace, name };
    if (isFull(this.running(namespace)))
      throw new OperatorError("KubeConflict", "other backups have started since the decision");
    this.#created.set(keyText(job), { job, atMs: this.#reads.clock.monotonicMs() });
    try {
      return await create();
    } catch (thrown) {
      this.#created.delete(keyText(job));
      throw thrown;
    }
  }

  #forget(): void {
    const { jobs, clock } = this.#reads;
    for (const [key, { job, atMs }] of this.#created) {
      const isSeen = jobs.get(job, "known") !== undefined;
      if (isSeen || clock.monotonicMs() - atMs >= YOUNG_MS) this.#created.delete(key);
    }
  }
}
