import type { ConditionType, Reason } from "#api/conditions.ts";
import { DRY_RUN_ANNOTATION, REMOVAL_ANNOTATION, ROTATE_CA_ANNOTATIONS, WAIVE_ANNOTATION } from "#api/names.ts";
import { pausedBy } from "#api/pause.ts";
import type { MemberStatus } from "#api/v1beta1/cluster.ts";
import { partOf } from "#base/hash.ts";
import { isPolicyWanted } from "#cluster/exposure/desired/network-policy.ts";
import { sleeps, withPods } from "#cluster/lifecycle/sleep.ts";
import { knownMembers } from "#cluster/members/members.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isReady } from "#kube/pod.ts";
import type { CachedParts } from "./cached-parts.ts";
import { isCalledReady } from "./client-address.ts";

// How is a cluster at rest known to be healthy, without queries to its members?
//   The kubelet probes each member with a linearizable read every three seconds. A member that ends, hangs or is
//   partitioned becomes
//   not ready within 15 s, and this watched change wakes the controller. So does any other change of a watched object.
// What do the periodic observations look for?
//   What only etcd knows: alarms, the leader, members added by others. And members that are lost together with their
//   kubelet.
// Why less often in a larger fleet?
//   An observation costs the same for each cluster, and what may be a minute old need not cost a core.
// And when even one observation a minute is too much?
//   Four of five are quick checks (quick-checks.ts): one member, in rotation, is asked about all of them. What only a member
//   itself knows, such as its
//   lag, is then at most five minutes old.
// And a cluster that sleeps?
//   It is at rest once its members have stopped: there is no member to query, and everything that wakes it is watched.
// Does an old observation decide anything?
//   No. Every observation queries all members; only the interval at rest is longer. A quick check only decides that no
//   observation is needed.

/**
 * Shortest interval between observations of a cluster at rest, or with nothing to do, in milliseconds. Shorter: more
 * load. Longer: changes inside etcd are noticed later.
 */
export const SHORTEST_REST_MS = 10_000;
/** Longest interval, in milliseconds: what only etcd knows is noticed within a minute. */
const LONGEST_REST_MS = 58_000;
/**
 * Interval of minutely reads, in milliseconds: just below the longest interval, so that each observation includes them
 * and not every other one.
 */
export const MINUTELY_MS = 55_000;
/**
 * Interval per cluster at rest, in milliseconds: five observations a second, up to the longest interval. Less: more
 * load in large fleets.
 */
const EACH_MS = 200;
/** Tolerance for a timer that fires early, in milliseconds: without it, the same slot would be used twice. */
const EARLY_MS = 500;

/** Quick checks after each observation when intervals are longest. More: what only one member knows is noticed later. */
const QUICK_CHECKS = 4;
/** Longest time between two observations, in milliseconds, including quick checks and delays. */
export const OBSERVATIONS_APART_MS = (QUICK_CHECKS + 1) * (LONGEST_REST_MS + 5_000);

/** How long an observation or a quick check covers a cluster at rest, in milliseconds: the longest interval and a delay. */
export const REST_VOUCHED_MS = LONGEST_REST_MS + 5_000;

/**
 * Annotations that ask for something without a new generation: of people on the cluster, of the operator on a member.
 */
const ASKING = [...[DRY_RUN_ANNOTATION, REMOVAL_ANNOTATION, WAIVE_ANNOTATION], ...Object.values(ROTATE_CA_ANNOTATIONS)];

/** The conditions of a healthy cluster; types not listed here do not matter. */
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
 * Whether the cluster is complete and healthy according to its status, so that only events and state inside etcd can be
 * new. Any other cluster is observed as often as before.
 */
export function isSettled(snapshot: ClusterSnapshot): boolean {
  const { cluster, pods, members } = snapshot;
  if (members.is !== "present" || !isCalledWell(snapshot)) return false;
  const known = knownMembers(snapshot);
  if (known.length !== cluster.spec.replicas || pods.size !== known.length) return false;
  // A member not added by the operator is not queried, and so counts as unfit.
  if (known.some((member) => member.isLearner || member.lacks.length > 0)) return false;
  return [...snapshot.endpoints.values()].every(
    (answer) => answer.is === "present" && answer.value.alarms.length === 0 && answer.value.downgradeTo === undefined,
  );
}

/** Whether the cluster is settled, or sleeps with no member running: anything to do then causes an event. */
export function isAtRest(snapshot: ClusterSnapshot): boolean {
  return (sleeps(snapshot) && withPods(snapshot).length === 0) || isSettled(snapshot);
}

/**
 * Reasons for which a condition may differ although an observation would correct nothing: no PodMonitor is wanted, or
 * its kind is not served.
 */
const WELL_ALL_THE_SAME: readonly (string | undefined)[] = ["NotMonitored", "MonitorsNotServed"] satisfies Reason[];

/** Whether the conditions report a healthy cluster for the current generation. */
function isCalledWell({ cluster }: Pick<ClusterSnapshot, "cluster">): boolean {
  const isWell = cluster.status?.conditions?.every(({ type, status, reason }) => {
    const expected = WELL[type as ConditionType];
    return expected === undefined || status === expected || WELL_ALL_THE_SAME.includes(reason);
  });
  return isWell === true && isCalledReady({ cluster });
}

/**
 * Whether a cluster that this process has not observed yet is at rest, according to its status and caches. Everything
 * exists and stays, no annotation asks for anything, and each recorded member is a healthy voter with a ready pod.
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
  const isWell = ({ name, health, role }: MemberStatus) => {
    const pod = pods.get(name);
    return health === "Healthy" && role !== "Learner" && pod !== undefined && isReady(pod);
  };
  return mayRest && isCalledWell({ cluster }) && members.every(isWell);
}

/**
 * How many quick checks may follow an observation of a cluster at rest, 0 or more.
 * @param settled number of clusters at rest
 */
export function quickChecksAfter(settled: number): number {
  return settled * EACH_MS < LONGEST_REST_MS ? 0 : QUICK_CHECKS;
}

/**
 * Time until the next observation of a cluster with nothing to do, without an event, in milliseconds.
 * @param settled number of clusters at rest
 * @param nowMs by the clock that times the pause, 0 or more
 */
export function restMs(snapshot: ClusterSnapshot, settled: number, nowMs: number): number {
  return isAtRest(snapshot) ? settledMs(snapshot.cluster, settled, nowMs) : SHORTEST_REST_MS;
}

/** Time until the next observation of a cluster at rest. */
export function settledMs({ metadata }: Pick<ClusterSnapshot["cluster"], "metadata">, settled: number, nowMs: number) {
  const periodMs = Math.min(LONGEST_REST_MS, settled * EACH_MS);
  if (periodMs <= SHORTEST_REST_MS) return SHORTEST_REST_MS;
  // Each cluster has its own slot in the period: clusters observed at the start of the operator are spread out.
  const leftMs = Math.ceil(periodMs - ((nowMs + partOf(metadata.uid) * periodMs) % periodMs));
  return leftMs < EARLY_MS ? leftMs + periodMs : leftMs;
}
