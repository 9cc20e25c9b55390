import { isStale, withHash } from "#api/applied-hash.ts";
import { clusterLabels, disruptionBudgetName, ETCD_CONTAINER, memberSelector } from "#api/names.ts";
import { fingerprint } from "#base/hash.ts";
import { ownedBy } from "#cluster/desired/owned.ts";
import { ownArriving } from "#cluster/learners.ts";
import { isLeaving, type KnownMember, votersOf } from "#cluster/members.ts";
import { isAboutToRestart, isTemplateReady } from "#cluster/rolling.ts";
import { type ClusterSnapshot, isOwned } from "#cluster/snapshot.ts";
import { isStuck } from "#cluster/standstill.ts";
import { quorumOf } from "#etcd/quorum.ts";
import type { Draft, PodDisruptionBudget } from "#kube/kinds.ts";
import { hasRun } from "#kube/pod.ts";

/**
 * Lets drains and autoscalers evict members one after another, never below quorum.
 * It says `minAvailable` and not `maxUnavailable`: the latter is counted from the pods that happen to exist, so that it permits more
 * and more evictions while pods are missing.
 */
export function disruptionBudget(snapshot: ClusterSnapshot): Draft<PodDisruptionBudget> {
  const { namespace, name } = snapshot.cluster.metadata;
  const minAvailable = neededPods(snapshot) + (isTurnOn(snapshot) ? 1 : 0);
  return withHash<PodDisruptionBudget>({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      namespace,
      name: disruptionBudgetName(name),
      labels: clusterLabels(name),
      ownerReferences: [ownedBy(snapshot)],
    },
    spec: { minAvailable, selector: { matchLabels: memberSelector(name) } },
  });
}

/**
 * Kubernetes counts pods and knows nothing of votes: a learner's pod is ready like any other, and so is that of a member that was
 * removed a moment ago. Pods without a vote are therefore asked for on top, those included that are about to lose theirs or to
 * get one: the number holds before the change as well as after it. A kubelet may tell late that a pod runs, so one that may start any
 * moment counts like one that does.
 */
function neededPods(snapshot: ClusterSnapshot): number {
  const voters = votersOf(snapshot);
  const staying = voters.filter(({ name }) => !isLeaving(snapshot, name)).map(({ name }) => name);
  const withPods = [...snapshot.pods].flatMap(([name, pod]) =>
    hasRun(pod, ETCD_CONTAINER) || !isStuck(snapshot, { name }) ? [name] : [],
  );
  const others = new Set([...withPods, ...mayRunSoon(snapshot, voters)].filter((name) => !staying.includes(name))).size;
  return Math.max(quorumOf(Math.max(voters.length, 1)), quorumOf(Math.max(staying.length, 1)) + others);
}

/** After this long Kubernetes' word that something is in a pod's way is believed, in milliseconds: at first it often passes. */
const HANGS_AFTER_MS = 60_000;

/**
 * Members without a vote whose pods may become ready at any moment. They count from the moment on that etcd lists them, which is before
 * anything of them may start: later the number could come too late, or not at all, as during a pause. Drains go on while one hangs:
 * should it start after all, its container runs for seconds before it is ready.
 */
function mayRunSoon(snapshot: ClusterSnapshot, voters: readonly KnownMember[]): readonly string[] {
  const voting = new Set(voters.map(({ name }) => name));
  // While etcd cannot be asked, the record of members may be older than the permission to start.
  const peers = snapshot.members.is === "present" ? [] : snapshot.peers;
  const permitted = peers.map(({ metadata, spec }) => ({ name: metadata.name, id: spec.memberID }));
  const coming = [...ownArriving(snapshot), ...permitted].filter(({ name }) => !voting.has(name));
  return coming.flatMap(({ name, id }) => (id === undefined || hangs(snapshot, name, id) ? [] : [name]));
}

function hangs(snapshot: ClusterSnapshot, name: string, id: string): boolean {
  return isStuck(snapshot, { name }) && (snapshot.histories.get(id)?.knownForMs ?? 0) > HANGS_AFTER_MS;
}

/**
 * While a member is about to restart, one pod more has to stay: else an eviction and the restart could meet. Until its ReplicaSet has taken
 * over what it is to run, which somebody may refuse for long, nothing restarts.
 */
function isTurnOn(snapshot: ClusterSnapshot): boolean {
  return snapshot.peers.some((peer) => isAboutToRestart(snapshot, peer) && isTemplateReady(peer));
}

/** Whether somebody else holds evictions back, and no budget is to be there: of two that select the same pods, none lets any go. */
export function hasNoBudget({ cluster }: ClusterSnapshot): boolean {
  return cluster.spec.disruptionBudget === "None";
}

// When are evictions held back?
//   When the budget says so, Kubernetes has seen it, and knows of no eviction that it has yet to count. Without a budget of ours, or when
//   there is to be none, there is nothing to wait for.

/** Whether the budget says what it has to, and no eviction that it has let go is yet to be counted. */
export function holdsEvictions(snapshot: ClusterSnapshot): boolean {
  const live = ownBudget(snapshot);
  if (live === undefined) return true;
  return !budgetDiffers(live, disruptionBudget(snapshot)) && Object.keys(live.status?.disruptedPods ?? {}).length === 0;
}

/** Whether Kubernetes has seen the budget as it is. */
export function isBudgetSeen(snapshot: ClusterSnapshot): boolean {
  const live = ownBudget(snapshot);
  return live === undefined || (live.status?.observedGeneration ?? 0) >= (live.metadata.generation ?? 0);
}

function ownBudget(snapshot: ClusterSnapshot): PodDisruptionBudget | undefined {
  const live = snapshot.budget;
  return hasNoBudget(snapshot) || live === undefined || !isOwned(snapshot, live) ? undefined : live;
}

/** Whether the live budget has to be written: our wish has changed, or somebody changed what it protects. */
export function budgetDiffers(live: PodDisruptionBudget, wanted: Draft<PodDisruptionBudget>): boolean {
  return isStale(live, wanted) || fingerprint(essence(live)) !== fingerprint(essence(wanted));
}

function essence({ spec }: Pick<Draft<PodDisruptionBudget>, "spec">) {
  return {
    minAvailable: spec?.minAvailable,
    maxUnavailable: spec?.maxUnavailable,
    matchLabels: spec?.selector?.matchLabels,
  };
}
