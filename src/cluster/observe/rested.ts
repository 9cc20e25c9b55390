import { isAuthWanted } from "#api/auth.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { isMonitorOnRecord, isMonitorWanted } from "#cluster/exposure/monitored.ts";
import { leaderOf } from "#cluster/members/members.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type EndpointStatus, hexOf, type MemberList } from "#etcd/types.ts";
import type { Plan } from "#runtime/decide.ts";
import { aged } from "./aged.ts";
import { type CachedParts, versionsOf } from "./cached-parts.ts";
import { isCalledSettled, isSettled, OBSERVATIONS_APART_MS } from "./rest.ts";

/**
 * The state of a cluster at rest that a quick check compares. Strings instead of objects: replaced objects would stay in
 * memory.
 */
export interface Rested {
  /** Versions of all cached objects of the cluster. */
  readonly versions: string;
  /** The leader, and the IDs and names of the members. */
  readonly membership: string;
  /** Addresses of the members; undefined before the first observation. */
  readonly urls?: string;
}

/** The state after an observation; undefined when no quick check may follow. */
export function restedAt(snapshot: ClusterSnapshot, plan: Plan<ClusterStep>): Rested | undefined {
  const { cluster, members, certificates } = snapshot;
  const leader = leaderOf(snapshot);
  if (!isSettled(snapshot) || hasUnwatchedState(cluster) || leader === undefined || members.is !== "present")
    return undefined;
  // Bindings of EtcdUsers are not watched.
  if (!isForNothing(plan) || (certificates?.bindings ?? []).length > 0) return undefined;
  // No event reports that time has passed: the plan must have nothing to do until the next observation either.
  if (!isForNothing(planCluster(aged(snapshot, OBSERVATIONS_APART_MS)))) return undefined;
  return {
    versions: versionsOf(snapshot),
    membership: membershipOf(leader.id, membersIn(members.value)),
    urls: urlsIn(members.value),
  };
}

function isForNothing(plan: Plan<ClusterStep>): boolean {
  return plan.next === "settled" && plan.reports === undefined;
}

/** The state according to the status; undefined when the status or the caches show a problem. */
export function restedByRecord(parts: CachedParts): Rested | undefined {
  const { cluster } = parts;
  const members = cluster.status?.members ?? [];
  const leader = members.find(({ name }) => name === cluster.status?.leader);
  if (leader === undefined || hasUnwatchedState(cluster) || !isCalledSettled(parts)) return undefined;
  // Learners are not called settled.
  const listed = members.map(({ id, name }) => ({ id, name, isLearner: false }));
  return { versions: versionsOf(parts), membership: membershipOf(leader.id, listed) };
}

/** The answer of the member with this name, and its member list. */
interface Reply {
  readonly peer: string;
  readonly status: EndpointStatus;
  readonly list: MemberList;
}

/** Whether the queried member is a voter, reports no problem, and has the same leader and member list. */
export function isAsRested({ membership, urls }: Rested, { peer, status, list }: Reply): boolean {
  const { memberId, leaderId, isLearner, alarms, downgradeTo } = status;
  const isItself = list.members.find(({ id }) => id === memberId)?.name === peer;
  const isWell = isItself && !isLearner && alarms.length === 0 && downgradeTo === undefined;
  if (!isWell || leaderId === undefined) return false;
  const now = urlsIn(list);
  return membershipOf(hexOf(leaderId), membersIn(list)) === membership && now === (urls ?? now);
}

/** Whether the cluster has state that is neither watched nor reported by members. */
function hasUnwatchedState(cluster: EtcdCluster): boolean {
  const { auth, dryRun } = cluster.status ?? {};
  const isMonitored = isMonitorWanted(cluster) || isMonitorOnRecord(cluster);
  return isMonitored || isAuthWanted(cluster.spec) !== undefined || auth !== undefined || dryRun !== undefined;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly isLearner: boolean;
}

function membersIn({ members }: MemberList): readonly Listed[] {
  return members.map(({ id, name, isLearner }) => ({ id: hexOf(id), name, isLearner }));
}

function membershipOf(leaderId: string, members: readonly Listed[]): string {
  const lines = members.map(({ id, name, isLearner }) => `${id} ${name} ${isLearner}`);
  return [leaderId, ...lines.sort()].join("\n");
}

function urlsIn({ members }: MemberList): string {
  const lines = members.map(({ id, peerUrls, clientUrls }) => [hexOf(id), peerUrls, clientUrls].join(" "));
  return lines.sort().join("\n");
}
