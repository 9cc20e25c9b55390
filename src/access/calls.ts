import { clusterIdOf } from "#access/place.ts";
import { CLIENT_PORT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import type { EtcdAuth } from "#etcd/auth.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { hostnameOf, isReady } from "#kube/pod.ts";
import type { CacheView } from "#runtime/controller.ts";

// Which member is asked?
//   One whose pod is ready, and that votes: a learner refuses. The leader first, which need not pass it on; who was silent just now, last.
// What if a cluster is silent?
//   From the first question on that nobody has answered, its objects are told that failure for a while, without anybody asking; then one
//   question at a time tries again, at once when there is news of a member. So it takes from all others together, at the first, as many passes as were asking just then, for as long
//   as their deadlines last, and from then on one pass at a time, ever more rarely: with a hundred users as with one.

/** Roles, users and pods by their EtcdCluster: `namespace/name` of it. */
export const ETCD_INDEX = "etcd";

/** How many members are asked before none can be. */
const ATTEMPTS = 2;
/** How long a cluster that was silent is left alone. */
const PAUSE: Backoff = { firstMs: 2_000, maxMs: 60_000, factor: 2, jitter: 0 };
/** A member that was silent is asked after the others for so long, in milliseconds. */
const SILENT_MS = 60_000;
/** What is older tells nothing any more, in milliseconds. */
const KEPT_MS = 10 * 60_000;

export interface CallSources {
  readonly pods: CacheView<Pod>;
  readonly etcd: EtcdAuth;
  readonly identities: Identities;
  readonly clock: Clock;
}

export type Question<T> = (at: Endpoint, options: CallOptions) => Promise<T>;

interface Failure {
  readonly why: string;
  readonly tries: number;
  readonly untilMs: number;
  readonly pods: string;
}

/** Asks and changes the etcd of each cluster, and leaves those alone for a while that are silent. */
export class EtcdCalls {
  readonly #sources: CallSources;
  readonly #failures = new Map<string, Failure>();
  /** Questions to clusters that were silent. */
  readonly #probes = new Set<string>();
  /** Who was silent last, and when: by cluster and address. */
  readonly #silent = new Map<string, number>();

  constructor(sources: CallSources) {
    this.#sources = sources;
  }

  /** Of the members that can be asked, one that answers. @throws OperatorError Cancelled */
  async ask<T>(cluster: EtcdCluster, signal: AbortSignal, question: Question<T>): Promise<Observed<T>> {
    const text = textOf(cluster);
    const resting = this.whyResting(cluster);
    if (resting !== undefined) return unknown(resting);
    return await this.#probing(text, () => this.#askEach(cluster, signal, question));
  }

  /** While this is under way nobody else tries a cluster that was silent. */
  async #probing<T>(text: string, run: () => Promise<T>): Promise<T> {
    const isProbe = this.#failures.has(text);
    if (isProbe) this.#probes.add(text);
    try {
      return await run();
    } finally {
      if (isProbe) this.#probes.delete(text);
    }
  }

  /**
   * Changes something, once: what nobody answered may have happened.
   * @throws OperatorError as the client does; EtcdUnavailable when no member can be asked
   */
  async change(
    cluster: EtcdCluster,
    signal: AbortSignal,
    send: (etcd: EtcdAuth, at: Endpoint, options: CallOptions) => Promise<void>,
  ): Promise<void> {
    const [endpoints, why] = this.#endpoints(cluster);
    const [at] = endpoints;
    const resting = this.whyResting(cluster);
    if (at === undefined || resting !== undefined) throw new OperatorError("EtcdUnavailable", resting ?? why);
    try {
      const sent = () => send(this.#sources.etcd, at, this.#options(cluster, signal));
      await this.#probing(textOf(cluster), sent);
    } catch (thrown) {
      if (hasCode(thrown, "EtcdUnavailable")) {
        this.#noteSilence(cluster, at);
        this.#noteFailure(cluster, thrown.message);
      }
      throw thrown;
    }
  }

  async #askEach<T>(cluster: EtcdCluster, signal: AbortSignal, question: Question<T>): Promise<Observed<T>> {
    let [endpoints, why] = this.#endpoints(cluster);
    for (const at of endpoints.slice(0, ATTEMPTS)) {
      try {
        const answer = await question(at, this.#options(cluster, signal));
        this.#failures.delete(textOf(cluster));
        return present(answer);
      } catch (thrown) {
        if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
        if (hasCode(thrown, "EtcdUnavailable")) this.#noteSilence(cluster, at);
        why = thrown.message;
      }
    }
    this.#noteFailure(cluster, why);
    return unknown(why);
  }

  /** The last failure, while the cluster is left alone for it; undefined while it may be asked. */
  whyResting(cluster: EtcdCluster): string | undefined {
    const text = textOf(cluster);
    const failure = this.#failures.get(text);
    if (failure === undefined) return undefined;
    // With news of a member one question tries at once; a pod that is ready and not, by turns, has not all of them try each time.
    const isEarly = this.#sources.clock.monotonicMs() < failure.untilMs && failure.pods === this.#podsText(cluster);
    return isEarly || this.#probes.has(text) ? failure.why : undefined;
  }

  #noteFailure(cluster: EtcdCluster, why: string): void {
    const nowMs = this.#sources.clock.monotonicMs();
    for (const [text, { untilMs }] of this.#failures) if (nowMs - untilMs >= KEPT_MS) this.#failures.delete(text);
    const before = this.#failures.get(textOf(cluster));
    // Those who were asking at the same time have met one silence.
    const tries = before === undefined || nowMs < before.untilMs ? (before?.tries ?? 1) : before.tries + 1;
    const untilMs = nowMs + delayMs(PAUSE, tries - 1, 0);
    this.#failures.set(textOf(cluster), { why, tries, untilMs, pods: this.#podsText(cluster) });
  }

  #noteSilence(cluster: EtcdCluster, { address }: Endpoint): void {
    const nowMs = this.#sources.clock.monotonicMs();
    for (const [text, atMs] of this.#silent) if (nowMs - atMs >= SILENT_MS) this.#silent.delete(text);
    this.#silent.set(`${textOf(cluster)} ${address}`, nowMs);
  }

  /** Where members can be asked, in this order, and why there is nobody else. */
  #endpoints(cluster: EtcdCluster): [readonly Endpoint[], string] {
    const members = cluster.status?.members ?? [];
    const memberOf = (pod: Pod) => members.find(({ name }) => name === hostnameOf(pod));
    const seen = this.#podsOf(cluster)
      .filter((pod) => isReady(pod) && memberOf(pod)?.learner !== true)
      .map((pod) => ({ isLeader: memberOf(pod)?.leader === true, at: endpointOf(pod, this.#sources.identities) }))
      .toSorted((a, b) => Number(b.isLeader) - Number(a.isLeader));
    const dark = seen.find(({ at }) => at.is === "unknown")?.at;
    const endpoints = seen.flatMap(({ at }) => (at.is === "present" ? [at.value] : []));
    const silentAtMs = ({ address }: Endpoint) => this.#silentAtMs(`${textOf(cluster)} ${address}`);
    return [
      endpoints.toSorted((a, b) => silentAtMs(a) - silentAtMs(b)),
      dark?.is === "unknown" ? dark.why : "no member that votes has a pod that is ready",
    ];
  }

  /** -1 when it was not silent lately. */
  #silentAtMs(text: string): number {
    const atMs = this.#silent.get(text);
    return atMs === undefined || this.#sources.clock.monotonicMs() - atMs >= SILENT_MS ? -1 : atMs;
  }

  #podsOf(cluster: EtcdCluster): readonly Pod[] {
    return this.#sources.pods.byIndex(ETCD_INDEX, textOf(cluster));
  }

  /** Another text: there is news of a member, and it may answer. */
  #podsText(cluster: EtcdCluster): string {
    return this.#podsOf(cluster)
      .map((pod) => `${pod.metadata.uid} ${pod.status?.podIP}:${CLIENT_PORT} ${isReady(pod)}`)
      .toSorted()
      .join(" ");
  }

  #options(cluster: EtcdCluster, signal: AbortSignal): CallOptions {
    return { signal, expectedClusterId: clusterIdFromHex(clusterIdOf(cluster)) };
  }
}

export function textOf({ metadata }: Pick<EtcdCluster, "metadata">): string {
  return `${metadata.namespace}/${metadata.name}`;
}
