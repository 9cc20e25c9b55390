import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import type { Observed } from "#base/observed.ts";
import { isMonitorOnRecord, isMonitorWanted } from "#cluster/monitored.ts";
import { MINUTELY_MS } from "#cluster/rest.ts";
import type { SeenMonitor } from "#cluster/snapshot.ts";
import type { KubeClient } from "#kube/client.ts";
import { POD_MONITORS } from "#kube/kinds.ts";
import { isServed } from "#kube/served.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why is the PodMonitor read by its name, and not watched as everything else?
//   Its kind is somebody else's, and most Kubernetes clusters do not have it: a watch of it would fail for ever there, and one that began when
//   the kind is defined would have to end when it goes. Few clusters ask for one, and what people do to it may be put right a minute later.

/** How old an answer about whether the kind is served at all may be, in milliseconds; about a PodMonitor: a minute. */
const SERVED_MS = 5 * 60_000;

interface Answer<T> {
  readonly is: T;
  readonly atMs: number;
}

/** What the API server said of PodMonitors. A cache: a process that starts begins with nothing. */
export class Monitoring {
  readonly #kube: Pick<KubeClient, "find" | "raw">;
  readonly #clock: Clock;
  #served: Answer<Observed<true>> | undefined;
  readonly #monitors = new Map<string, Answer<SeenMonitor>>();

  constructor(kube: Pick<KubeClient, "find" | "raw">, clock: Clock) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** The cluster's PodMonitor; `undefined` when nobody has asked for one. @throws OperatorError Cancelled */
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
    // What could not be told is asked again with the next look.
    if (seen.is !== "unknown") this.#monitors.set(keyText(key), { is: seen, atMs: this.#clock.monotonicMs() });
    return seen;
  }

  /** What was said is out of date. */
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
