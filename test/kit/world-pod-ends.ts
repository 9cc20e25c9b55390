import type { Clock } from "#base/clock.ts";
import type { Pod } from "#kube/kinds.ts";
import type { Random } from "./world-random.ts";

/** When etcd's container of a pod that is to go ends, and when the pod is gone, in world time. */
interface End {
  readonly endsMs: number;
  readonly goneMs: number;
}

/** Most pods are gone soon after their containers have ended; what is beside etcd, or a volume, may take all of the grace period. */
const MOSTLY_SOON = 0.6;
const SOON_MS = 2_000;
const LATEST_MS = 28_000;

/** How pods that are to go come to their ends: etcd runs on for as long as its `preStop` says, then it ends, and a while later the pod is gone. */
export class PodEnds {
  readonly #ends = new Map<string, End>();
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #slowestMs: number;

  /** @param parts.slowestEndMs how long pods of which etcd has ended are there at most, in milliseconds */
  constructor(parts: { random: Random; clock: Clock; slowestEndMs: number }) {
    this.#random = parts.random;
    this.#clock = parts.clock;
    this.#slowestMs = parts.slowestEndMs;
  }

  /** Whether its kubelet knows that it is to go. */
  has({ metadata }: Pod): boolean {
    return this.#ends.has(metadata.uid);
  }

  /** What its kubelet does next; `undefined` when that is to wait. */
  next(pod: Pod, isRunning: boolean): "begin" | "stopEtcd" | "remove" | undefined {
    // Whom no kubelet knows goes at once.
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
    for (const ms of [endsMs, goneMs]) this.#clock.after(ms - nowMs, () => undefined); // so that time does not pass it by
  }
}

function preStopMs({ spec }: Pod): number {
  const etcd = spec?.containers?.find(({ name }) => name === "etcd");
  return Number(etcd?.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1_000;
}
