import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { type Observed, unknown } from "#base/observed.ts";
import type { Pod } from "#kube/kinds.ts";
import { isReady, restartsOf } from "#kube/pod.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why is a silent member not called in every pass?
//   A call to a silent member takes its whole timeout. With one silent member in each of fifty clusters, all other
//   clusters would wait for those passes. A refused connection returns at once and is not recorded.
// What does a pass assume in between?
//   The result of the last call, at most ten seconds old: a healthy member is called no more often.
// What ends a pause early?
//   A change of the pod: a new uid, a new address, a container restart, or a change of its Ready condition.

/** Pauses between calls. The first retry comes at once, since a starting member may answer any moment. */
const PAUSE: Backoff = { firstMs: 250, maxMs: 10_000, factor: 2, jitter: 0 };
/** A call that failed after this many milliseconds found a silent member. */
const SLOW_MS = 500;

/** A member's answer. */
export interface Asked<T, Id> {
  readonly status: Observed<T>;
  /** Its identity, if another answer revealed it; such a member is not silent. */
  readonly passesAs: Id | undefined;
}

interface Silence {
  readonly tries: number;
  readonly untilMs: number;
  readonly why: string;
}

/** A cache of members that did not answer, by cluster and by what the kubelet reports of their pods. */
export class Silences {
  readonly #clock: Clock;
  readonly #container: string;
  readonly #clusters = new Map<string, Map<string, Silence>>();

  /** @param container the container of etcd; restarts of others end no pause */
  constructor(clock: Clock, container: string) {
    this.#clock = clock;
    this.#container = container;
  }

  /** Calls the member, unless it was silent just now. */
  async ask<T, Id>(key: Key, pod: Pod, question: () => Promise<Asked<T, Id>>): Promise<Asked<T, Id>> {
    const silences = this.#of(key);
    const text = this.#textOf(pod);
    const before = silences.get(text);
    const startedAtMs = this.#clock.monotonicMs();
    if (before !== undefined && startedAtMs < before.untilMs)
      return { status: unknown(before.why), passesAs: undefined };
    const answer = await question();
    const nowMs = this.#clock.monotonicMs();
    const isSilent = answer.status.is === "unknown" && answer.passesAs === undefined;
    if (isSilent && nowMs - startedAtMs >= SLOW_MS) {
      const tries = (before?.tries ?? 0) + 1;
      const untilMs = tries === 1 ? nowMs : nowMs + delayMs(PAUSE, tries - 2, 0);
      silences.set(text, { tries, untilMs, why: answer.status.is === "unknown" ? answer.status.why : "" });
    } else silences.delete(text);
    return answer;
  }

  /** Forgets what was recorded of other pods than these. */
  keep(key: Key, pods: Iterable<Pod>): void {
    const texts = new Set([...pods].map((pod) => this.#textOf(pod)));
    const silences = this.#of(key);
    for (const text of silences.keys()) if (!texts.has(text)) silences.delete(text);
    if (silences.size === 0) this.#clusters.delete(keyText(key));
  }

  #of(key: Key): Map<string, Silence> {
    const text = keyText(key);
    const known = this.#clusters.get(text) ?? new Map<string, Silence>();
    this.#clusters.set(text, known);
    return known;
  }

  #textOf(pod: Pod): string {
    return [pod.metadata.uid, pod.status?.podIP, restartsOf(pod, this.#container), isReady(pod)].join(" ");
  }
}
