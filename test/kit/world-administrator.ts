import { rfc3339 } from "#base/timestamp.ts";
import { POD_DISRUPTION_BUDGETS, PODS, type Pod, type PodDisruptionBudget } from "#kube/kinds.ts";
import { isOver } from "./world-containers.ts";
import { isSelected } from "./world-controllers.ts";
import { type ListedMember, membersOf } from "./world-disk.ts";
import type { Process } from "./world-etcd.ts";
import { isReady } from "./world-kubelet.ts";
import type { PeoplesParts } from "./world-people.ts";
import { whyNotAdd, whyNotRemove } from "./world-reconfiguration.ts";

// What administrators do with etcdctl and kubectl drain, beside the operator.

/** `etcdctl member add own --peer-urls …`, with or without `--learner`, and its process on a machine of theirs. */
export function addOwnMember({ etcd, tell }: PeoplesParts, isLearner: boolean): boolean {
  const leader = leaderIn([...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process));
  // Nobody signs for theirs where members speak TLS.
  if (leader === undefined || leader.speeches.peer.schemes.has("https")) return false;
  const id = etcd.newMemberId();
  const member: ListedMember = {
    id,
    name: "",
    isAnnounced: false,
    peerUrl: `http://own-${id}.example:2380`,
    isLearner,
  };
  const refusal = whyNotAdd(etcd, leader, member);
  tell(`a person adds a ${isLearner ? "learner" : "voter"} of their own: ${refusal ?? "done"}`);
  if (refusal !== undefined || !etcd.change(leader, { term: leader.data.term, is: "add", member })) return false;
  etcd.startForeign(leader, member);
  return true;
}

/** They take them away again, where etcd lets them. */
export function removeOwnMembers({ etcd }: PeoplesParts): void {
  for (const leader of [...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process))
    for (const id of etcd.truth.of(leader.data.clusterId).foreign)
      if (membersOf(leader.data).has(id) && whyNotRemove(etcd, leader, id) === undefined)
        etcd.change(leader, { term: leader.data.term, is: "remove", id });
}

function leaderIn(leaders: readonly Process[]): Process | undefined {
  return leaders[0];
}

/** `kubectl drain` asks for one eviction: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/ */
export function drain({ api, random, tell, evicted, nowMs }: PeoplesParts): boolean {
  const pod = random.pick(
    api
      .list(PODS)
      .filter(({ metadata, spec }) => spec?.nodeName !== undefined && metadata.deletionTimestamp === undefined),
  );
  if (pod === undefined) return false;
  // Who has ended already may go at any time.
  const budgets = isOver(pod) ? [] : api.list(POD_DISRUPTION_BUDGETS).filter((budget) => isSelected(budget, pod));
  if (!budgets.every((budget) => permits(budget, pod, api.list(PODS)))) return false;
  tell(`pod ${pod.metadata.name} is evicted`);
  for (const budget of isReady(pod) ? budgets : [])
    api.update("kubernetes", POD_DISRUPTION_BUDGETS, budget, granted(budget, pod, nowMs()));
  api.delete("kubernetes", PODS, pod.metadata);
  evicted(pod);
  return true;
}

/**
 * By what the disruption controller has counted last, and not before it has seen the budget as it is. A pod that is not ready may go
 * while enough others are (`unhealthyPodEvictionPolicy: IfHealthyBudget`, the default): these are counted as they are, because a pod is
 * called unready here in the moment in which it follows no leader, and really five probes later, when all has been counted long since.
 * checkAndDecrement in pkg/registry/core/pod/storage/eviction.go
 */
function permits(budget: PodDisruptionBudget, pod: Pod, all: readonly Pod[]): boolean {
  const { metadata, spec, status } = budget;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  if (isReady(pod)) return (status?.disruptionsAllowed ?? 0) > 0;
  const healthy = all.filter(
    (each) => isSelected(budget, each) && isReady(each) && each.metadata.deletionTimestamp === undefined,
  );
  return healthy.length >= Number(spec?.minAvailable ?? 0);
}

function granted({ status }: PodDisruptionBudget, pod: Pod, nowMs: number): Partial<PodDisruptionBudget> {
  const disruptedPods = { ...status?.disruptedPods, [pod.metadata.name]: rfc3339(nowMs) };
  return {
    status: { ...status, disruptionsAllowed: (status?.disruptionsAllowed ?? 0) - 1, disruptedPods },
  } as Partial<PodDisruptionBudget>;
}
