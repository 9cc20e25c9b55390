import { hasCode } from "#base/error.ts";
import { endpointOf } from "#certificates/dial.ts";
import { type CachedParts, CLUSTER_INDEX, cachedParts, versionsOf } from "#cluster/cached-parts.ts";
import { withKeptTls } from "#cluster/certificates/kept.ts";
import type { CertificateReads } from "#cluster/certificates/reads.ts";
import type { HealthLog } from "#cluster/health-log.ts";
import { MEMBER_DEADLINE_MS } from "#cluster/member-answer.ts";
import { idOf, leaderOf } from "#cluster/members.ts";
import type { ClusterReads } from "#cluster/observe.ts";
import { glancesAfter, isSettled, settledMs } from "#cluster/rest.ts";
import { type ClusterSnapshot, identityOf } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { clusterIdFromHex, type EndpointStatus, hexOf, type MemberId, type MemberList } from "#etcd/types.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";

// What is a glance?
//   A look at a cluster at rest, in a large fleet, that asks one member instead of all: whether the cluster has the same leader, the same
//   members and no alarm, by a list that a majority has confirmed. It takes a third of what a look takes.
// What does it decide?
//   That there is nothing to look at. Whatever is not as the last look found it, or could not be told, is looked at: at once, and by asking all.
// Which clusters are never glanced at?
//   Those of which something is read besides what is watched and what members say: users of etcd, a PodMonitor, the forecast of an edit.
//   And all of a fleet in which looks cost little: rest.ts.

/** What the last look found, as far as a glance compares it. */
interface Rested {
  /** Of everything that caches know of the cluster. */
  readonly versions: string;
  /** Who leads, and who is a member of what name. */
  readonly told: string;
  /** See `CertificateReads.newsOf`. */
  readonly news: number;
  /** How many glances may follow: each asks another member. */
  readonly left: number;
}

interface Parts {
  readonly reads: ClusterReads;
  readonly certificates: Pick<CertificateReads, "look" | "newsOf">;
  readonly healthLog: Pick<HealthLog, "settled" | "glanced">;
}

/** Glances at clusters at rest. What is remembered is cache: a process that starts looks at everything. */
export class Glances {
  readonly #parts: Parts;
  readonly #clusters = new Map<string, Rested>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** How many clusters are at rest. */
  get settled(): number {
    return this.#parts.healthLog.settled + (this.#parts.reads.othersAtRest ?? 0);
  }

  /** Notes what the look has found, and that there is nothing to do. */
  note(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>): void {
    const { cluster, members, podMonitor, auth } = snapshot;
    const text = keyText(cluster.metadata);
    this.#clusters.delete(text);
    const left = glancesAfter(this.settled);
    const isAtRest = plan.next === "settled" && plan.aside === undefined && isSettled(snapshot);
    const isReadBesides = podMonitor !== undefined || auth !== undefined || cluster.status?.plan !== undefined;
    const leader = leaderOf(snapshot);
    if (left === 0 || !isAtRest || isReadBesides || leader === undefined || members.is !== "present") return;
    const { namespace, name } = cluster.metadata;
    this.#clusters.set(text, {
      versions: versionsOf(snapshot),
      told: toldBy(idOf(leader), members.value),
      news: this.#parts.certificates.newsOf({ namespace, name }),
      left,
    });
  }

  /**
   * Whether the cluster is as the last look found it.
   * @returns for how long it is left alone then, in milliseconds; undefined: it has to be looked at
   * @throws OperatorError Cancelled
   */
  async glance(key: Key, signal: AbortSignal): Promise<number | undefined> {
    const text = keyText(key);
    const last = this.#clusters.get(text);
    if (last === undefined) return undefined;
    // Whatever ends this one, no other glance follows.
    this.#clusters.delete(text);
    const { reads, healthLog } = this.#parts;
    const cluster = reads.clusters.get(key);
    if (cluster === undefined || last.left === 0 || glancesAfter(this.settled) === 0) return undefined;
    const parts = cachedParts(reads, cluster);
    const hasUsers = reads.users.byIndex(CLUSTER_INDEX, text).length > 0;
    if (hasUsers || versionsOf(parts) !== last.versions) return undefined;
    if ((await this.#newsOf(parts, signal)) !== last.news) return undefined;
    if ((await this.#ask(parts, last.left, signal)) !== last.told) return undefined;
    // What has changed meanwhile has woken the cluster, and is looked at then.
    const nowMs = reads.clock.monotonicMs();
    healthLog.glanced(key, nowMs);
    this.#clusters.set(text, { ...last, left: last.left - 1 });
    return settledMs(cluster, this.settled, nowMs);
  }

  /** Its Secrets are read as often as with each look. */
  async #newsOf({ cluster, peers, pods }: CachedParts, signal: AbortSignal): Promise<number> {
    const { certificates } = this.#parts;
    await certificates.look(withKeptTls(cluster, { peers, pods }), { peers, pods }, signal);
    const { namespace, name } = cluster.metadata;
    return certificates.newsOf({ namespace, name });
  }

  /** What the member whose turn it is tells of the cluster; undefined when it is not well, or does not tell. */
  async #ask(parts: CachedParts, turn: number, signal: AbortSignal): Promise<string | undefined> {
    const { etcd, identities } = this.#parts.reads;
    const recorded = identityOf(parts)?.clusterID;
    const [peer, pod] = [...parts.pods].at(turn % parts.pods.size) ?? [];
    const endpoint = pod && endpointOf(pod, identities);
    if (recorded === undefined || endpoint?.is !== "present") return undefined;
    const options = { signal, deadlineMs: MEMBER_DEADLINE_MS, expectedClusterId: clusterIdFromHex(recorded) };
    try {
      const [status, list] = await Promise.all([
        etcd.status(endpoint.value, options),
        etcd.memberList(endpoint.value, { ...options, linearizable: true }),
      ]);
      return isWell(status, list, peer) ? toldBy(status.leaderId, list) : undefined;
    } catch (thrown) {
      if (hasCode(thrown, "EtcdUnavailable", "EtcdRejected", "EtcdWrongCluster")) return undefined;
      throw thrown;
    }
  }
}

/** Whether the member is the one that was to be asked, is a voter that follows a leader, and knows of nothing amiss. */
function isWell(
  { memberId, leaderId, isLearner, alarms, downgradeTo }: EndpointStatus,
  { members }: MemberList,
  peer: string | undefined,
): boolean {
  const isItself = members.find(({ id }) => id === memberId)?.name === peer;
  return isItself && leaderId !== undefined && !isLearner && alarms.length === 0 && downgradeTo === undefined;
}

function toldBy(leaderId: MemberId | undefined, { members }: MemberList): string {
  const lines = members.map(({ id, name, isLearner, peerUrls, clientUrls }) =>
    [hexOf(id), name, isLearner, peerUrls, clientUrls].join(" "),
  );
  return [leaderId === undefined ? "nobody" : hexOf(leaderId), ...lines.sort()].join("\n");
}
