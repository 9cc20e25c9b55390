import { hasCode } from "#base/error.ts";
import { endpointOf } from "#certificates/dial.ts";
import type { HealthLog } from "#cluster/members/health-log.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { withEffectiveTls } from "#cluster-tls/effective/effective.ts";
import type { CertificateReads } from "#cluster-tls/read/reads.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";
import { type CachedParts, CLUSTER_INDEX, cachedParts, versionsOf } from "./cached-parts.ts";
import { MEMBER_DEADLINE_MS } from "./member-answer.ts";
import type { ClusterReads } from "./observe.ts";
import { quickChecksAfter, settledMs } from "./rest.ts";
import { isAsRested, type Rested, restedAt, restedByRecord } from "./rested.ts";

// What is a quick check?
//   A cheap check of a cluster at rest, in a large fleet. It queries one member instead of all: same leader, same
//   members, no alarm,
//   according to a linearizable member list. It costs a third of an observation.
// What does it decide?
//   Only that no observation is needed. Any difference or missing answer causes a full observation at once.
// And when the process has just started?
//   Then the status counts instead of the last observation, for one quick check. Unhealthy clusters among thousands are
//   found in seconds, and the others are observed within a minute, spread evenly.
// Which clusters have no quick checks?
//   Those with state that is neither watched nor reported by members: users of etcd, a PodMonitor, the forecast of an
//   edit. And all in a
//   fleet that is small enough for full observations: rest.ts.

/** What is remembered for the next quick checks. */
interface Noted {
  readonly rested: Rested;
  /** See `CertificateReads.newsOf`; undefined before the first observation. */
  readonly news?: number;
  /** How many quick checks may follow before the next full observation. */
  readonly left: number;
}

interface Parts {
  readonly reads: ClusterReads;
  readonly certificates: Pick<CertificateReads, "look" | "newsOf">;
  readonly healthLog: Pick<HealthLog, "settled" | "quicklyChecked">;
}

/** Quick checks of clusters at rest. A cache: after a start only the status counts. */
export class QuickChecks {
  readonly #parts: Parts;
  readonly #clusters = new Map<string, Noted>();
  /** Index of the next member to query, by cluster. */
  readonly #turns = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Number of clusters at rest. */
  get settled(): number {
    return this.#parts.healthLog.settled + (this.#parts.reads.othersAtRest ?? 0);
  }

  /**
   * Records the result of an observation with nothing to do. @param plan undefined: the status is not up to date yet
   */
  note(snapshot: ClusterSnapshot, plan: Plan<ClusterStep> | undefined): void {
    const { namespace, name } = snapshot.cluster.metadata;
    const text = keyText({ namespace, name });
    if (!this.#turns.has(text)) this.#turns.set(text, 0);
    const left = quickChecksAfter(this.settled);
    const rested = left === 0 || plan === undefined ? undefined : restedAt(snapshot, plan);
    if (rested === undefined) this.#clusters.delete(text);
    else this.#clusters.set(text, { rested, news: this.#parts.certificates.newsOf({ namespace, name }), left });
  }

  /**
   * Whether the cluster is as the last observation found it.
   * @returns time until the next check, in milliseconds; undefined: a full observation is needed
   * @throws OperatorError Cancelled
   */
  async quickCheck(key: Key, signal: AbortSignal): Promise<number | undefined> {
    const text = keyText(key);
    const { reads, healthLog } = this.#parts;
    const turn = this.#turns.get(text) ?? 0;
    const isFirst = !this.#turns.has(text);
    const noted = this.#clusters.get(text);
    // No other quick check follows when this one fails for any reason.
    this.#clusters.delete(text);
    const cluster = reads.clusters.get(key);
    if (cluster === undefined) {
      this.#turns.delete(text);
      reads.lastChecks?.forget(key);
      return undefined;
    }
    this.#turns.set(text, turn);
    const inFleet = isFirst ? Math.max(this.settled, reads.fleetSize?.() ?? 0) : this.settled;
    const hasUsers = reads.users.byIndex(CLUSTER_INDEX, text).length > 0;
    if (quickChecksAfter(inFleet) === 0 || hasUsers) return undefined;
    const parts = cachedParts(reads, cluster);
    const last = isFirst ? onRecord(parts) : noted;
    if (last === undefined || last.left === 0 || versionsOf(parts) !== last.rested.versions) return undefined;
    const news = await this.#newsOf(parts, signal);
    if (news !== (last.news ?? news) || !(await this.#isAsBefore(parts, last.rested, turn, signal))) return undefined;
    this.#turns.set(text, turn + 1);
    // Changes of watched objects wake the cluster and cause an observation.
    const nowMs = reads.clock.monotonicMs();
    healthLog.quicklyChecked(key, nowMs);
    if (!isFirst) this.#clusters.set(text, { ...last, left: last.left - 1 });
    return settledMs(cluster, inFleet, nowMs);
  }

  /** Secrets are read as often as with full observations. */
  async #newsOf({ cluster, peers, pods }: CachedParts, signal: AbortSignal): Promise<number> {
    const { certificates } = this.#parts;
    await certificates.look(withEffectiveTls(cluster, { peers, pods }), { peers, pods }, signal);
    const { namespace, name } = cluster.metadata;
    return certificates.newsOf({ namespace, name });
  }

  /** Whether the next member reports the same cluster, and is healthy. */
  async #isAsBefore(parts: CachedParts, rested: Rested, turn: number, signal: AbortSignal): Promise<boolean> {
    const { etcd, identities, lastChecks, clock } = this.#parts.reads;
    const recorded = identityOf(parts)?.clusterID;
    const [peer, pod] = [...parts.pods].at(turn % parts.pods.size) ?? [];
    const endpoint = pod && endpointOf(pod, identities);
    if (peer === undefined || recorded === undefined || endpoint?.is !== "present") return false;
    const options = { signal, deadlineMs: MEMBER_DEADLINE_MS, expectedClusterId: clusterIdFromHex(recorded) };
    try {
      const [status, list] = await Promise.all([
        etcd.status(endpoint.value, options),
        etcd.memberList(endpoint.value, { ...options, linearizable: true }),
      ]);
      const isSame = isAsRested(rested, { peer, status, list });
      if (isSame) lastChecks?.quicklyChecked(parts.cluster.metadata, peer, status, clock.wallMs());
      return isSame;
    } catch (thrown) {
      if (hasCode(thrown, "EtcdUnavailable", "EtcdRejected", "EtcdWrongCluster")) return false;
      throw thrown;
    }
  }
}

/** From the status, before the first observation of this process. */
function onRecord(parts: CachedParts): Noted | undefined {
  const rested = restedByRecord(parts);
  return rested && { rested, left: 1 };
}
