import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { type Observed, unknown } from "#base/observed.ts";
import type { Pod } from "#kube/kinds.ts";
import { isReady, restartsOf } from "#kube/pod.ts";
import { type Key, keyText } from "#runtime/controller.ts";

// Why is a member that is silent not asked in every look?
//   Silence costs a look the whole time that a member has to answer. With one silent member in each of fifty clusters, all other
//   clusters would wait for those looks. A refused connection costs nothing and is not noted.
// What does the look say meanwhile?
//   What the last question found, which is at most as old as the pause: ten seconds, as long as a healthy member is left alone.
// What ends a pause early?
//   News of the pod: another one, an address, its container started again, the kubelet calls it ready or not any more.

/** The first question after a silence comes at once; somebody who starts may answer any moment. */
const PAUSE: Backoff = { firstMs: 250, maxMs: 10_000, factor: 2, jitter: 0 };
/** A question that took this long, in milliseconds, met silence. */
const SLOW_MS = 500;

/** What a member said. */
export interface Asked<T, Id> {
  readonly status: Observed<T>;
  /** Who it is, if it told that in another way; it is not silent then. */
  readonly passesAs: Id | undefined;
}

interface Silence {
  readonly tries: number;
  readonly untilMs: number;
  readonly why: string;
}

/** Remembers members that were silent when they were asked, by cluster and by what the kubelet says of their pods. It is a cache. */
export class Silences {
  readonly #clock: Clock;
  readonly #container: string;
  readonly #clusters = new Map<string, Map<string, Silence>>();

  /** @param container the one of their pods that is asked: others that start again have nothing to say */
  constructor(clock: Clock, container: string) {
    this.#clock = clock;
    this.#container = container;
  }

  /** Asks the member, unless it was silent just now. */
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

  /** Forgets what was noted of other pods than these. */
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
