import type { ConditionType, Reason } from "#api/conditions.ts";
import { DRY_RUN_ANNOTATION, REMOVAL_ANNOTATION, ROTATE_CA_ANNOTATION, WAIVE_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import type { MemberStatus } from "#api/v1beta1/cluster.ts";
import { partOf } from "#base/hash.ts";
import type { CachedParts } from "#cluster/cached-parts.ts";
import { isCalledReady } from "#cluster/client-address.ts";
import { isPolicyWanted } from "#cluster/desired/network-policy.ts";
import { whyUnfit } from "#cluster/fitness.ts";
import { knownMembers } from "#cluster/members.ts";
import { sleeps, withPods } from "#cluster/sleep.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isReady } from "#kube/pod.ts";

// How is it known that a cluster at rest is well, when nobody asks its members?
//   The kubelet asks each member for a linearizable read every three seconds, and its word is watched: who has ended, hangs, or is cut off
//   from the others, is called not ready within 15 s, and that change wakes the room. So does every other change of what anybody here reads of
//   an object of the cluster.
// What is looked for all the same?
//   What only etcd knows: alarms, who leads, members that somebody has added. And members whose kubelet is gone with them.
// Why more rarely in a larger fleet?
//   What a look costs is the same for each cluster, and what may be a minute old need not cost a core.
// And where even a look a minute is much?
//   Four of five are glances (glances.ts): one member is asked, each in its turn, what it knows of all of them. What only a member itself
//   knows, such as how far it is behind, is then five minutes old at most.
// And one that sleeps?
//   Is at rest once its members have stopped: there is nobody who could be asked, and whatever wakes it is watched.
// Is anything decided by an old look?
//   No. A look asks all members, whoever and whatever made it due. Only the time between two looks at a cluster at rest is longer. A glance
//   decides nothing but that there is nothing to be looked at.

/** The shortest time between two looks at a cluster at rest, in milliseconds; also that of one that has nothing to do and is not at rest. */
export const SHORTEST_REST_MS = 10_000;
/** The longest, in milliseconds: what only etcd knows is seen within a minute. */
const LONGEST_REST_MS = 58_000;
/** What is read once in a minute is due after this, in milliseconds: with each of the looks that are furthest apart, and not with every other one. */
export const MINUTELY_MS = 55_000;
/** How much longer the rest is for each cluster at rest, in milliseconds: five looks a second, until it is the longest. */
const EACH_MS = 200;
/** A timer may come a moment early, and is not to be followed by the turn for which it came. */
const EARLY_MS = 500;

/** So many glances follow a look where looks are furthest apart. */
const GLANCES = 4;
/** Two looks are no further apart than this, in milliseconds, glances between them and what may hold up each of them. */
export const LOOKS_APART_MS = (GLANCES + 1) * (LONGEST_REST_MS + 5_000);

/** A look, or a glance, speaks for a cluster at rest at most as long, in milliseconds: the longest rest, and what may hold up the look after it. */
export const REST_VOUCHED_MS = LONGEST_REST_MS + 5_000;

/** By which something is asked for that no generation counts: of a cluster by people, of a member by this operator. */
const ASKING = [DRY_RUN_ANNOTATION, REMOVAL_ANNOTATION, ROTATE_CA_ANNOTATION, WAIVE_ANNOTATION];

/** What its conditions say of a cluster of which nothing is amiss; those that are missing here are about something else. */
const WELL: { readonly [type in ConditionType]?: "True" | "False" } = {
  Available: "True",
  AuthReady: "True",
  ClusterIDMismatch: "False",
  Degraded: "False",
  Monitored: "True",
  Paused: "False",
  Progressing: "False",
  TLSReady: "True",
  UpToDate: "True",
};

/**
 * Whether the cluster is whole and well in every respect, as it was told of it, so that only events and what etcd alone knows could be news.
 * Whoever is not is looked at as often as ever.
 */
export function isSettled(snapshot: ClusterSnapshot): boolean {
  const { cluster, pods, members } = snapshot;
  if (members.is !== "present" || !isCalledWell(snapshot)) return false;
  const known = knownMembers(snapshot);
  if (known.length !== cluster.spec.replicas || pods.size !== known.length) return false;
  // Who was added by a person is not asked, and so not fit.
  if (known.some((member) => member.isLearner || whyUnfit(snapshot, member) !== undefined)) return false;
  return [...snapshot.endpoints.values()].every(
    (answer) => answer.is === "present" && answer.value.alarms.length === 0 && answer.value.downgradeTo === undefined,
  );
}

/** The same, or nobody of it runs because it sleeps: whatever there will be to do, an event tells. */
export function isAtRest(snapshot: ClusterSnapshot): boolean {
  return (sleeps(snapshot) && withPods(snapshot).length === 0) || isSettled(snapshot);
}

/** Why a condition may be otherwise, and nothing is amiss that a look would mend: nobody asks for a PodMonitor any more, or there cannot be one here. */
const WELL_ALL_THE_SAME: readonly (string | undefined)[] = ["NotMonitored", "MonitorsNotServed"] satisfies Reason[];

/** Whether it was told of the cluster, as it is wanted now, that nothing is amiss. */
function isCalledWell({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  const isWell = cluster.status?.conditions?.every(({ type, status, reason }) => {
    const expected = WELL[type as ConditionType];
    return expected === undefined || status === expected || WELL_ALL_THE_SAME.includes(reason);
  });
  return isWell === true && isCalledReady({ cluster });
}

/**
 * Whether a cluster that this process has not looked at yet is at rest by what was told of it and by what caches know: everything is there and
 * stays, nobody asks for anything by an annotation, and each member is on record as a healthy voter, in a pod that the kubelet calls ready.
 */
export function isCalledSettled(parts: CachedParts): boolean {
  const { cluster, pods, peers, claims, headlessService, clientService, budget, networkPolicy, foreignPeers } = parts;
  const members = cluster.status?.members ?? [];
  const { replicas } = cluster.spec;
  const isWhole = [members.length, peers.length, pods.size, claims.length].every((count) => count === replicas);
  const hasServices = headlessService !== undefined && clientService !== undefined;
  const isGuarded = budget !== undefined && (networkPolicy !== undefined) === isPolicyWanted(parts);
  const isServed = hasServices && isGuarded && foreignPeers.length === 0;
  const all = [cluster, headlessService, clientService, budget, networkPolicy, ...peers, ...claims, ...pods.values()];
  const isGoing = all.some((object) => object?.metadata.deletionTimestamp !== undefined);
  const isAsked = all.some((object) => ASKING.some((name) => object?.metadata.annotations?.[name] !== undefined));
  const mayRest = isWhole && isServed && !isGoing && !isAsked && pausedBy(cluster) === undefined;
  const isWell = ({ name, healthy, learner }: MemberStatus) => {
    const pod = pods.get(name);
    return healthy && !learner && pod !== undefined && isReady(pod);
  };
  return mayRest && isCalledWell({ cluster }) && members.every(isWell);
}

/** How many glances may follow a look at a cluster at rest, 0 or more. @param settled how many clusters are at rest */
export function glancesAfter(settled: number): number {
  return settled * EACH_MS < LONGEST_REST_MS ? 0 : GLANCES;
}

/**
 * How long a cluster with nothing to do is left alone if no event comes, in milliseconds.
 * @param settled how many clusters are at rest
 * @param nowMs by the clock by which the pause is waited for, 0 or more
 */
export function restMs(snapshot: ClusterSnapshot, settled: number, nowMs: number): number {
  return isAtRest(snapshot) ? settledMs(snapshot.cluster, settled, nowMs) : SHORTEST_REST_MS;
}

/** The same of one that is at rest. */
export function settledMs({ metadata }: Pick<ClusterSnapshot["cluster"], "metadata">, settled: number, nowMs: number) {
  const periodMs = Math.min(LONGEST_REST_MS, settled * EACH_MS);
  if (periodMs <= SHORTEST_REST_MS) return SHORTEST_REST_MS;
  // Each has its own turn in the period: clusters that were all looked at when the operator started do not come back all at once.
  const leftMs = Math.ceil(periodMs - ((nowMs + partOf(metadata.uid) * periodMs) % periodMs));
  return leftMs < EARLY_MS ? leftMs + periodMs : leftMs;
}
