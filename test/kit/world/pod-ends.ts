import type { Clock } from "#base/clock.ts";
import type { Pod } from "#kube/kinds.ts";
import type { Random } from "./random.ts";

/** When etcd's container of a deleted pod ends, and when the pod is removed, in simulated time. */
interface End {
  readonly endsMs: number;
  readonly goneMs: number;
}

/**
 * Share of pods that are removed soon after their containers have ended. A sidecar or volume of the others may take the
 * whole grace period.
 */
const MOSTLY_SOON = 0.6;
const SOON_MS = 2_000;
const LATEST_MS = 28_000;

/** How deleted pods end: etcd runs on for its `preStop` time, then it ends, and later the pod is removed. */
export class PodEnds {
  readonly #ends = new Map<string, End>();
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #slowestMs: number;

  /** @param parts.slowestEndMs how long a pod exists at most after its etcd has ended, in milliseconds */
  constructor(parts: { random: Random; clock: Clock; slowestEndMs: number }) {
    this.#random = parts.random;
    this.#clock = parts.clock;
    this.#slowestMs = parts.slowestEndMs;
  }

  /** Whether its kubelet has seen the deletion. */
  has({ metadata }: Pod): boolean {
    return this.#ends.has(metadata.uid);
  }

  /** The next step of the pod's kubelet; `undefined` when its time has not come. */
  next(pod: Pod, isRunning: boolean): "begin" | "stopEtcd" | "remove" | undefined {
    // A pod without a node is removed at once.
    if (pod.spec?.nodeName === undefined) return "remove";
    const nowMs = this.#clock.monotonicMs();
    const end = this.#ends.get(pod.metadata.uid);
    if (end === undefined) {
      this.#begin(pod, isRunning, nowMs);
      return "begin";
    }
    if (isRunning && nowMs >= end.endsMs) return "stopEtcd";
    if (nowMs < end.goneMs) return undefined;
    this.#ends.delete(pod.metadata.uid);
    return "remove";
  }

  #begin(pod: Pod, isRunning: boolean, nowMs: number): void {
    const endsMs = nowMs + (isRunning ? preStopMs(pod) : 0);
    const most = this.#random.chance(MOSTLY_SOON) ? SOON_MS : LATEST_MS;
    const goneMs = endsMs + Math.min(this.#slowestMs, this.#random.below(most));
    this.#ends.set(pod.metadata.uid, { endsMs, goneMs });
    // so that the simulation stops at these times
    for (const ms of [endsMs, goneMs]) this.#clock.after(ms - nowMs, () => undefined);
  }
}

function preStopMs({ spec }: Pod): number {
  const etcd = spec?.containers?.find(({ name }) => name === "etcd");
  return Number(etcd?.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1_000;
}
