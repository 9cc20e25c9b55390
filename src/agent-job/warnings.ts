import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { EVENTS, type KubeObject } from "#kube/kinds.ts";
import { type Attempted, idleSince, stateOf, type Workers, workingPod } from "./job-state.ts";

/**
 * Interval in which the same object is not asked for again, in milliseconds: a waiting pod is observed every few
 * seconds.
 */
const FRESH_MS = 30_000;
/**
 * Time without a running container after which warning events are read, in milliseconds. Pulling an image takes a
 * while.
 */
const WARNINGS_AFTER_MS = 5_000;
/** Number of warnings in a message for users. */
const MAX_WARNINGS = 3;

interface Answer {
  readonly atMs: number;
  readonly warnings: readonly string[];
}

/** Reads Kubernetes' warning events at intervals. Answers are cached, and forgotten when the object is gone. */
export class WarningsReader {
  readonly #kube: Pick<KubeClient, "list">;
  readonly #clock: Clock;
  readonly #last = new Map<string, Answer>();

  constructor(kube: Pick<KubeClient, "list">, clock: Clock) {
    this.#kube = kube;
    this.#clock = clock;
  }

  /** Recent warnings about this object, newest first. They only explain, so a failed request yields none. */
  async of({ metadata: { namespace = "", uid } }: KubeObject, signal: AbortSignal): Promise<readonly string[]> {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#last.get(uid);
    if (last !== undefined && nowMs - last.atMs < FRESH_MS) return last.warnings;
    for (const [key, { atMs }] of this.#last) if (nowMs - atMs >= 10 * FRESH_MS) this.#last.delete(key);
    const warnings = await this.#list(namespace, uid, signal);
    this.#last.set(uid, { atMs: nowMs, warnings });
    return warnings;
  }

  async #list(namespace: string, uid: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      const query = { namespace, fieldSelector: `regarding.uid=${uid},type=Warning` };
      const { items } = await this.#kube.list(EVENTS, query, { signal });
      const latest = items.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)).slice(0, MAX_WARNINGS);
      return latest.map(({ note, reason }) => note ?? reason ?? "no reason given");
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
      return [];
    }
  }
}

/**
 * Warning events about the first active Job without a running container, or about its pod.
 * @param workers containers that do the work of the Jobs
 */
export async function warningsOf(
  reader: Pick<WarningsReader, "of">,
  attempts: readonly (Attempted | undefined)[],
  workers: Workers,
  nowMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [first] = attempts.flatMap((each) => {
    const since = each === undefined || stateOf(each) !== "active" ? undefined : idleSince(each, workers);
    return each === undefined || since === undefined ? [] : [{ ...each, since }];
  });
  if (first === undefined || nowMs - first.since < WARNINGS_AFTER_MS) return [];
  return await reader.of(workingPod(first) ?? first.job, signal);
}

/** Kubernetes' own components write the older fields. */
function timeOf(event: {
  eventTime?: string;
  series?: { lastObservedTime?: string };
  deprecatedLastTimestamp?: string;
}): string {
  return event.series?.lastObservedTime ?? event.deprecatedLastTimestamp ?? event.eventTime ?? "";
}
