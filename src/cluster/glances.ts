import { hasCode } from "#base/error.ts";
import { endpointOf } from "#certificates/dial.ts";
import { type CachedParts, CLUSTER_INDEX, cachedParts, versionsOf } from "#cluster/cached-parts.ts";
import { withKeptTls } from "#cluster/certificates/kept.ts";
import type { CertificateReads } from "#cluster/certificates/reads.ts";
import type { HealthLog } from "#cluster/health-log.ts";
import { MEMBER_DEADLINE_MS } from "#cluster/member-answer.ts";
import type { ClusterReads } from "#cluster/observe.ts";
import { glancesAfter, settledMs } from "#cluster/rest.ts";
import { isAsRested, type Rested, restedAt, restedByRecord } from "#cluster/rested.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";

// What is a glance?
//   A look at a cluster at rest, in a large fleet, that asks one member instead of all: whether the cluster has the same leader, the same
//   members and no alarm, by a list that a majority has confirmed. It takes a third of what a look takes.
// What does it decide?
//   That there is nothing to look at. Whatever is not as the last look found it, or could not be told, is looked at: at once, and by asking all.
// And when the process has just begun?
//   Then what is on record counts instead of the last look, for one glance: of a thousand clusters those of which something is amiss are found
//   in seconds, and looked at; the others within a minute, each in its own turn.
// Which clusters are never glanced at?
//   Those of which something is read besides what is watched and what members say: users of etcd, a PodMonitor, the forecast of an edit.
//   And all of a fleet in which looks cost little: rest.ts.

/** For the glances to come. */
interface Noted {
  readonly rested: Rested;
  /** See `CertificateReads.newsOf`; undefined: nobody has looked. */
  readonly news?: number;
  /** How many glances may follow. */
  readonly left: number;
}

interface Parts {
  readonly reads: ClusterReads;
  readonly certificates: Pick<CertificateReads, "look" | "newsOf">;
  readonly healthLog: Pick<HealthLog, "settled" | "glanced">;
}

/** Glances at clusters at rest. What is remembered is cache: a process that starts has only what is on record. */
export class Glances {
  readonly #parts: Parts;
  readonly #clusters = new Map<string, Noted>();
  /** Whose turn it is, of the members of each cluster that has been looked or glanced at. */
  readonly #turns = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** How many clusters are at rest. */
  get settled(): number {
    return this.#parts.healthLog.settled + (this.#parts.reads.othersAtRest ?? 0);
  }

  /** Notes what the look has found, and that there is nothing to do. @param plan undefined: the cluster has yet to say what was found */
  note(snapshot: ClusterSnapshot, plan: Plan<ClusterStep> | undefined): void {
    const { namespace, name } = snapshot.cluster.metadata;
    const text = keyText({ namespace, name });
    if (!this.#turns.has(text)) this.#turns.set(text, 0);
    const left = glancesAfter(this.settled);
    const rested = left === 0 || plan === undefined ? undefined : restedAt(snapshot, plan);
    if (rested === undefined) this.#clusters.delete(text);
    else this.#clusters.set(text, { rested, news: this.#parts.certificates.newsOf({ namespace, name }), left });
  }

  /**
   * Whether the cluster is as the last look found it.
   * @returns for how long it is left alone then, in milliseconds; undefined: it has to be looked at
   * @throws OperatorError Cancelled
   */
  async glance(key: Key, signal: AbortSignal): Promise<number | undefined> {
    const text = keyText(key);
    const { reads, healthLog } = this.#parts;
    const turn = this.#turns.get(text) ?? 0;
    const isFirst = !this.#turns.has(text);
    const noted = this.#clusters.get(text);
    // Whatever ends this one, no other glance follows.
    this.#clusters.delete(text);
    const cluster = reads.clusters.get(key);
    if (cluster === undefined) {
      this.#turns.delete(text);
      return undefined;
    }
    this.#turns.set(text, turn);
    const inFleet = isFirst ? Math.max(this.settled, reads.fleetSize?.() ?? 0) : this.settled;
    const hasUsers = reads.users.byIndex(CLUSTER_INDEX, text).length > 0;
    if (glancesAfter(inFleet) === 0 || hasUsers) return undefined;
    const parts = cachedParts(reads, cluster);
    const last = isFirst ? onRecord(parts) : noted;
    if (last === undefined || last.left === 0 || versionsOf(parts) !== last.rested.versions) return undefined;
    const news = await this.#newsOf(parts, signal);
    if (news !== (last.news ?? news) || !(await this.#isAsBefore(parts, last.rested, turn, signal))) return undefined;
    this.#turns.set(text, turn + 1);
    // What has changed meanwhile has woken the cluster, and is looked at then.
    const nowMs = reads.clock.monotonicMs();
    healthLog.glanced(key, nowMs);
    if (!isFirst) this.#clusters.set(text, { ...last, left: last.left - 1 });
    return settledMs(cluster, inFleet, nowMs);
  }

  /** Its Secrets are read as often as with each look. */
  async #newsOf({ cluster, peers, pods }: CachedParts, signal: AbortSignal): Promise<number> {
    const { certificates } = this.#parts;
    await certificates.look(withKeptTls(cluster, { peers, pods }), { peers, pods }, signal);
    const { namespace, name } = cluster.metadata;
    return certificates.newsOf({ namespace, name });
  }

  /** Whether the member whose turn it is tells the same of the cluster, and is well. */
  async #isAsBefore(parts: CachedParts, rested: Rested, turn: number, signal: AbortSignal): Promise<boolean> {
    const { etcd, identities } = this.#parts.reads;
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
      return isAsRested(rested, { peer, status, list });
    } catch (thrown) {
      if (hasCode(thrown, "EtcdUnavailable", "EtcdRejected", "EtcdWrongCluster")) return false;
      throw thrown;
    }
  }
}

/** Of a process that has just begun, before it has looked. */
function onRecord(parts: CachedParts): Noted | undefined {
  const rested = restedByRecord(parts);
  return rested && { rested, left: 1 };
}
