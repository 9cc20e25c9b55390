import { isAuthWanted } from "#api/auth.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { aged } from "#cluster/aged.ts";
import { type CachedParts, versionsOf } from "#cluster/cached-parts.ts";
import { leaderOf } from "#cluster/members.ts";
import { isMonitorOnRecord, isMonitorWanted } from "#cluster/monitored.ts";
import { planCluster } from "#cluster/plan.ts";
import { isCalledSettled, isSettled, LOOKS_APART_MS } from "#cluster/rest.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type EndpointStatus, hexOf, type MemberList } from "#etcd/types.ts";
import type { Plan } from "#runtime/decide.ts";

/** A cluster at rest, as far as a glance compares it. Texts, and no objects: those that were replaced meanwhile would be kept in memory. */
export interface Rested {
  /** Of everything that caches know of the cluster. */
  readonly versions: string;
  /** Who leads, and who is a member of what name. */
  readonly told: string;
  /** Where members are reached; undefined: nobody has looked. */
  readonly urls?: string;
}

/** What the look has found; undefined when it must not be followed by a glance. */
export function restedAt(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>): Rested | undefined {
  const { cluster, members, certificates } = snapshot;
  const leader = leaderOf(snapshot);
  if (!isSettled(snapshot) || isReadBesides(cluster) || leader === undefined || members.is !== "present")
    return undefined;
  // Bindings of EtcdUsers are not watched.
  if (!isForNothing(plan) || (certificates?.bindings ?? []).length > 0) return undefined;
  // Nothing wakes a cluster because time has passed.
  if (!isForNothing(planCluster(aged(snapshot, LOOKS_APART_MS)))) return undefined;
  return {
    versions: versionsOf(snapshot),
    told: toldBy(leader.id, membersIn(members.value)),
    urls: urlsIn(members.value),
  };
}

function isForNothing(plan: Plan<ClusterStep>): boolean {
  return plan.next === "settled" && plan.aside === undefined;
}

/** What was told of the cluster when it was looked at last; undefined when something was amiss, or is by what caches know. */
export function restedByRecord(parts: CachedParts): Rested | undefined {
  const { cluster } = parts;
  const members = cluster.status?.members ?? [];
  const leader = members.find(({ name }) => name === cluster.status?.leader);
  if (leader === undefined || isReadBesides(cluster) || !isCalledSettled(parts)) return undefined;
  const told = members.map(({ id, name, learner }) => ({ id, name, isLearner: learner }));
  return { versions: versionsOf(parts), told: toldBy(leader.id, told) };
}

/** What the member of this name says of itself, and whom it lists. */
interface Word {
  readonly peer: string;
  readonly status: EndpointStatus;
  readonly list: MemberList;
}

/** Whether the member that was asked is a voter, knows of nothing amiss, and tells of the same cluster. */
export function isAsRested({ told, urls }: Rested, { peer, status, list }: Word): boolean {
  const { memberId, leaderId, isLearner, alarms, downgradeTo } = status;
  const isItself = list.members.find(({ id }) => id === memberId)?.name === peer;
  const isWell = isItself && !isLearner && alarms.length === 0 && downgradeTo === undefined;
  if (!isWell || leaderId === undefined) return false;
  const now = urlsIn(list);
  return toldBy(hexOf(leaderId), membersIn(list)) === told && now === (urls ?? now);
}

/** Whether something is read of the cluster that is neither watched, nor told by any member. */
function isReadBesides(cluster: EtcdCluster): boolean {
  const { auth, plan } = cluster.status ?? {};
  const isMonitored = isMonitorWanted(cluster) || isMonitorOnRecord(cluster);
  return isMonitored || isAuthWanted(cluster.spec) !== undefined || auth !== undefined || plan !== undefined;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly isLearner: boolean;
}

function membersIn({ members }: MemberList): readonly Listed[] {
  return members.map(({ id, name, isLearner }) => ({ id: hexOf(id), name, isLearner }));
}

function toldBy(leaderId: string, members: readonly Listed[]): string {
  const lines = members.map(({ id, name, isLearner }) => `${id} ${name} ${isLearner}`);
  return [leaderId, ...lines.sort()].join("\n");
}

function urlsIn({ members }: MemberList): string {
  const lines = members.map(({ id, peerUrls, clientUrls }) => [hexOf(id), peerUrls, clientUrls].join(" "));
  return lines.sort().join("\n");
}
