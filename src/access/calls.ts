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

// Which member gets a request?
//   A voter with a ready pod, since a learner refuses. The leader first, which need not forward it; a member that
//   recently did not answer, last.
// What if no member of a cluster answers?
//   After the first failure all its objects get that failure for a while, without a request. Then one request at a time
//   tries again, earlier when a member's pod changes. So a cluster that does not answer blocks the passes that were
//   waiting at that time, until their deadlines. Later it blocks one pass at a time, ever more rarely, with a hundred
//   users as with one.

/** Index of roles, users and pods by their EtcdCluster, as `namespace/name`. */
export const ETCD_INDEX = "etcd";

/** Number of members that are tried before a request fails. */
const ATTEMPTS = 2;
/** Backoff after a cluster did not answer. */
const PAUSE: Backoff = { firstMs: 2_000, maxMs: 60_000, factor: 2, jitter: 0 };
/** Time in milliseconds for which a member that did not answer is tried last. */
const SILENT_MS = 60_000;
/** Age in milliseconds after which a failure is forgotten. */
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

/** Sends requests to the etcd of each cluster, with a backoff for clusters that do not answer. */
export class EtcdCalls {
  readonly #sources: CallSources;
  readonly #failures = new Map<string, Failure>();
  /** Clusters in backoff to which a request is under way. */
  readonly #probes = new Set<string>();
  /** When a member last did not answer, by cluster and address. */
  readonly #silent = new Map<string, number>();

  constructor(sources: CallSources) {
    this.#sources = sources;
  }

  /** Sends the request to members in order until one answers. @throws OperatorError Cancelled */
  async ask<T>(cluster: EtcdCluster, signal: AbortSignal, question: Question<T>): Promise<Observed<T>> {
    const text = textOf(cluster);
    const resting = this.whyResting(cluster);
    if (resting !== undefined) return unknown(resting);
    return await this.#probing(text, () => this.#askEach(cluster, signal, question));
  }

  /** Runs the request; while it probes a cluster in backoff, no other request is sent to it. */
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
   * Sends a change once, without retry: a change without an answer may have been applied.
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

  /** The last failure, while the cluster is in backoff; undefined when it may be tried. */
  whyResting(cluster: EtcdCluster): string | undefined {
    const text = textOf(cluster);
    const failure = this.#failures.get(text);
    if (failure === undefined) return undefined;
    // A pod change ends the backoff for one request; a pod that keeps changing does not let all requests through each
    // time.
    const isEarly = this.#sources.clock.monotonicMs() < failure.untilMs && failure.pods === this.#podsText(cluster);
    return isEarly || this.#probes.has(text) ? failure.why : undefined;
  }

  #noteFailure(cluster: EtcdCluster, why: string): void {
    const nowMs = this.#sources.clock.monotonicMs();
    for (const [text, { untilMs }] of this.#failures) if (nowMs - untilMs >= KEPT_MS) this.#failures.delete(text);
    const before = this.#failures.get(textOf(cluster));
    // Requests that fail at the same time count as one failure.
    const tries = before === undefined || nowMs < before.untilMs ? (before?.tries ?? 1) : before.tries + 1;
    const untilMs = nowMs + delayMs(PAUSE, tries - 1, 0);
    this.#failures.set(textOf(cluster), { why, tries, untilMs, pods: this.#podsText(cluster) });
  }

  #noteSilence(cluster: EtcdCluster, { address }: Endpoint): void {
    const nowMs = this.#sources.clock.monotonicMs();
    for (const [text, atMs] of this.#silent) if (nowMs - atMs >= SILENT_MS) this.#silent.delete(text);
    this.#silent.set(`${textOf(cluster)} ${address}`, nowMs);
  }

  /** The endpoints of members in the order of preference, and why there are no more. */
  #endpoints(cluster: EtcdCluster): [readonly Endpoint[], string] {
    const members = cluster.status?.members ?? [];
    const memberOf = (pod: Pod) => members.find(({ name }) => name === hostnameOf(pod));
    const seen = this.#podsOf(cluster)
      .filter((pod) => isReady(pod) && memberOf(pod)?.role !== "Learner")
      .map((pod) => ({ isLeader: memberOf(pod)?.role === "Leader", at: endpointOf(pod, this.#sources.identities) }))
      .toSorted((a, b) => Number(b.isLeader) - Number(a.isLeader));
    const dark = seen.find(({ at }) => at.is === "unknown")?.at;
    const endpoints = seen.flatMap(({ at }) => (at.is === "present" ? [at.value] : []));
    const silentAtMs = ({ address }: Endpoint) => this.#silentAtMs(`${textOf(cluster)} ${address}`);
    return [
      endpoints.toSorted((a, b) => silentAtMs(a) - silentAtMs(b)),
      dark?.is === "unknown" ? dark.why : "no voting member has a ready pod",
    ];
  }

  /** When the member did not answer; -1 when it has answered recently. */
  #silentAtMs(text: string): number {
    const atMs = this.#silent.get(text);
    return atMs === undefined || this.#sources.clock.monotonicMs() - atMs >= SILENT_MS ? -1 : atMs;
  }

  #podsOf(cluster: EtcdCluster): readonly Pod[] {
    return this.#sources.pods.byIndex(ETCD_INDEX, textOf(cluster));
  }

  /** Identifies the state of the cluster's pods: a change means that a member may answer. */
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
