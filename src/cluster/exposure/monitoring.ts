import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import type { Observed } from "#base/observed.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import type { SeenMonitor } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { POD_MONITORS } from "#kube/kinds.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { isMonitorOnRecord, isMonitorWanted } from "./monitored.ts";

// Why is the PodMonitor read by name, and not watched?
//   Its kind belongs to the Prometheus Operator, and most clusters lack it. A watch would fail forever there, and would
//   have to start and stop with the CRD. Few clusters ask for one, and a manual edit may take a minute to be corrected.

/**
 * Maximum age, in milliseconds, of the answer that the kind is not served; the PodMonitor itself is read every minute.
 * Shorter: more requests that return 404. Longer: a newly installed CRD is noticed later.
 */
const SERVED_MS = 5 * 60_000;

interface Answer<T> {
  readonly is: T;
  readonly atMs: number;
}

/** Answers of the API server about PodMonitors. A cache: a process starts without any. */
export class Monitoring {
  readonly #kube: Pick<KubeClient, "find" | "raw">;
  readonly #clock: Clock;
  #served: Answer<Observed<true>> | undefined;
  readonly #monitors = new Map<string, Answer<SeenMonitor>>();

  constructor(kube: Pick<KubeClient, "find" | "raw">, clock: Clock) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** The cluster's PodMonitor; `undefined` when none is wanted. @throws OperatorError Cancelled */
  async look(cluster: EtcdCluster, signal: AbortSignal): Promise<SeenMonitor | undefined> {
    const { namespace, name, deletionTimestamp } = cluster.metadata;
    const key = { namespace, name };
    if (deletionTimestamp !== undefined || !(isMonitorWanted(cluster) || isMonitorOnRecord(cluster))) {
      this.forget(key);
      return undefined;
    }
    const last = this.#monitors.get(keyText(key));
    if (last !== undefined && this.#isYoung(last, MINUTELY_MS)) return last.is;
    const seen = await this.#ask(key, signal);
    // A failed read is repeated with the next observation.
    if (seen.is !== "unknown") this.#monitors.set(keyText(key), { is: seen, atMs: this.#clock.monotonicMs() });
    return seen;
  }

  /** Drops the cached answer. */
  forget(key: Key): void {
    this.#monitors.delete(keyText(key));
  }

  async #ask(key: Key, signal: AbortSignal): Promise<SeenMonitor> {
    if (this.#served === undefined || !this.#isYoung(this.#served, SERVED_MS)) {
      const is = await isServed(this.#kube, POD_MONITORS, { signal });
      this.#served = is.is === "unknown" ? undefined : { is, atMs: this.#clock.monotonicMs() };
      if (is.is === "unknown") return is;
    }
    if (this.#served?.is.is === "absent") return { is: "notServed" };
    return await this.#kube.find(POD_MONITORS, key, { signal });
  }

  #isYoung<T>({ atMs }: Answer<T>, mostMs: number): boolean {
    return this.#clock.monotonicMs() - atMs < mostMs;
  }
}
