import { isStale, withHash } from "#api/applied-hash.ts";
import { clusterLabels, disruptionBudgetName, ETCD_CONTAINER, memberSelector } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownJoining } from "#cluster/members/learners.ts";
import { containerOf, historyOf } from "#cluster/members/member-state.ts";
import { type KnownMember, votersOf } from "#cluster/members/members.ts";
import { ownedBy } from "#cluster/owned.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { isAboutToRestart, isTemplateReady } from "#cluster/update/pending-restart.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Draft, PodDisruptionBudget } from "#kube/kinds.ts";
import { hasRun } from "#kube/pod.ts";

/**
 * Up to this many members, drains may evict a member without leaving a quorum: a budget with one would refuse every
 * eviction, and node upgrades would hang. Larger: drains could interrupt clusters that survive the loss of a member.
 * See docs/adr/0042-small-clusters-let-drains-pass.md.
 */
const SMALL = 2;

/**
 * Whether evictions may cost the quorum during a restart: at most two members are wanted and at most two can vote. A
 * cluster that is being scaled down to two keeps its quorum until then.
 */
export function letsQuorumGo({ cluster }: Pick<ClusterSnapshot, "cluster">, voters: number): boolean {
  const { replicas } = cluster.spec;
  return replicas > 0 && replicas <= SMALL && voters <= replicas;
}

/**
 * Lets drains and autoscalers evict members one after another, never below the quorum when three or more are wanted.
 * The budget sets `minAvailable`: `maxUnavailable` counts from the pods that exist, and so permits more evictions while
 * pods are missing.
 */
export function disruptionBudget(snapshot: ClusterSnapshot): Draft<PodDisruptionBudget> {
  const { namespace, name } = snapshot.cluster.metadata;
  const minAvailable = neededPods(snapshot) + (isRestartPending(snapshot) ? 1 : 0);
  // With `minAvailable` 0, Kubernetes by default refuses to evict a pod that is not ready. A drain would hang on a
  // member that does not start.
  const always = minAvailable === 0 ? { unhealthyPodEvictionPolicy: "AlwaysAllow" as const } : {};
  return withHash<PodDisruptionBudget>({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace,
      name: disruptionBudgetName(name),
      labels: clusterLabels(name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: { minAvailable, ...always, selector: { matchLabels: memberSelector(name) } },
  });
}

/**
 * The number of pods that must stay. Kubernetes counts pods, not votes, so pods without a vote, or about to gain or
 * lose it, are added to the quorum. A pod that may start at any moment counts too, since a kubelet may report it late.
 */
function neededPods(snapshot: ClusterSnapshot): number {
  const voters = votersOf(snapshot);
  const staying = voters.filter(({ removal }) => removal === undefined).map(({ name }) => name);
  const withPods = [...snapshot.pods].flatMap(([name, pod]) =>
    hasRun(pod, ETCD_CONTAINER) || !isStuck(snapshot, name) ? [name] : [],
  );
  const others = new Set([...withPods, ...mayRunSoon(snapshot, voters)].filter((name) => !staying.includes(name))).size;
  const spared = letsQuorumGo(snapshot, voters.length) ? 1 : 0;
  const quorum = (count: number) => quorumOf(Math.max(count, 1)) - spared;
  return Math.max(quorum(voters.length), quorum(staying.length) + others);
}

/**
 * For this long an obstacle to a pod's start counts as temporary, in milliseconds. Shorter: a pod about to start would
 * not be counted. Longer: drains wait longer for a pod that hangs.
 */
const HANGS_AFTER_MS = 60_000;

/**
 * Members without a vote that may have a ready pod at any moment. They count as soon as etcd lists them: later, the
 * budget could be written too late, or not at all during a pause. A pod that hangs does not block drains: its container
 * would run for seconds before it is ready.
 */
function mayRunSoon(snapshot: ClusterSnapshot, voters: readonly KnownMember[]): readonly string[] {
  const voting = new Set(voters.map(({ name }) => name));
  // Without an answer of etcd, the recorded members may be older than the permission to start.
  const peers = snapshot.members.is === "present" ? [] : snapshot.peers;
  const permitted = peers.map(({ metadata, spec }) => ({ name: metadata.name, id: spec.memberID }));
  const coming = [...ownJoining(snapshot), ...permitted].filter(({ name }) => !voting.has(name));
  return coming.flatMap(({ name, id }) => (id === undefined || hangs(snapshot, name, id) ? [] : [name]));
}

function hangs(snapshot: ClusterSnapshot, name: string, id: string): boolean {
  return isStuck(snapshot, name) && historyOf(snapshot, id).knownForMs > HANGS_AFTER_MS;
}

/** Whether the pod cannot run etcd without a change: Kubernetes reports that, or its start timeout is over. */
function isStuck(snapshot: ClusterSnapshot, name: string): boolean {
  const { is } = containerOf(snapshot, name);
  return is === "stopped" || is === "overdue";
}

/**
 * Whether one more pod has to stay because a member is about to restart: otherwise an eviction and the restart could
 * coincide. Not before the ReplicaSet has the new template: nothing restarts until then.
 */
function isRestartPending(snapshot: ClusterSnapshot): boolean {
  // An eviction of the only member interrupts as much as its restart.
  if (snapshot.cluster.spec.replicas === 1 && letsQuorumGo(snapshot, votersOf(snapshot).length)) return false;
  return snapshot.peers.some((peer) => isAboutToRestart(snapshot, peer) && isTemplateReady(peer));
}

/**
 * Whether the operator must not create a budget because the user has one. Of two budgets that select the same pods,
 * each blocks all evictions.
 */
export function hasNoBudget({ cluster }: ClusterSnapshot): boolean {
  return cluster.spec.disruptionBudget.policy === "None";
}

// When are evictions held back?
//   When the budget has the required number, Kubernetes has observed it, and no permitted eviction is yet to be
//   counted.
//   Without a budget of the operator there is nothing to wait for.

/** Whether the budget has the required number, and no permitted eviction is yet to be counted. */
export function holdsEvictions(snapshot: ClusterSnapshot): boolean {
  const live = ownBudget(snapshot);
  if (live === undefined) return true;
  return !budgetDiffers(live, disruptionBudget(snapshot)) && Object.keys(live.status?.disruptedPods ?? {}).length === 0;
}

/** Whether Kubernetes has observed the current budget. */
export function isBudgetSeen(snapshot: ClusterSnapshot): boolean {
  const live = ownBudget(snapshot);
  return live === undefined || (live.status?.observedGeneration ?? 0) >= (live.metadata.generation ?? 0);
}

function ownBudget(snapshot: ClusterSnapshot): PodDisruptionBudget | undefined {
  const live = snapshot.budget;
  return hasNoBudget(snapshot) || live === undefined || !isOwned(snapshot, live) ? undefined : live;
}

/**
 * Whether the live budget has to be written: the desired one has changed, or another client changed what it protects. A
 * policy for unhealthy pods that another client has set stays, unless the operator sets one.
 */
export function budgetDiffers(live: PodDisruptionBudget, wanted: Draft<PodDisruptionBudget>): boolean {
  const hasPolicy = wanted.spec?.unhealthyPodEvictionPolicy !== undefined;
  return isStale(live, wanted) || fingerprint(essence(live, hasPolicy)) !== fingerprint(essence(wanted, hasPolicy));
}

function essence({ spec }: Pick<Draft<PodDisruptionBudget>, "spec">, hasPolicy: boolean) {
  return {
    minAvailable: spec?.minAvailable,
    maxUnavailable: spec?.maxUnavailable,
    ...(hasPolicy ? { unhealthyPodEvictionPolicy: spec?.unhealthyPodEvictionPolicy } : {}),
    matchLabels: spec?.selector?.matchLabels,
  };
}
