import { type KubeObject, POD_DISRUPTION_BUDGETS, PODS, type Pod, type PodDisruptionBudget } from "#kube/kinds.ts";
import { type ListedMember, membersOf } from "./world-disk.ts";
import type { Process } from "./world-etcd.ts";
import { isReady } from "./world-kubelet.ts";
import type { PeoplesParts } from "./world-people.ts";
import { whyNotAdd, whyNotRemove } from "./world-reconfiguration.ts";

// What administrators do with etcdctl and kubectl drain, beside the operator.

/** `etcdctl member add own --peer-urls …`, with or without `--learner`, and its process on a machine of theirs. */
export function addOwnMember({ etcd, tell }: PeoplesParts, isLearner: boolean): boolean {
  const leader = leaderIn([...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process));
  if (leader === undefined) return false;
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
export function drain({ api, random, tell, evicted }: PeoplesParts): boolean {
  const pod = random.pick(
    api
      .list(PODS)
      .filter(({ metadata, spec }) => spec?.nodeName !== undefined && metadata.deletionTimestamp === undefined),
  );
  if (pod === undefined || !api.list(POD_DISRUPTION_BUDGETS).every((budget) => permits(budget, pod, api.list(PODS))))
    return false;
  tell(`pod ${pod.metadata.name} is evicted`);
  api.delete("kubernetes", PODS, pod.metadata);
  evicted(pod);
  return true;
}

/**
 * As pkg/controller/disruption counts: pods that are ready and stay. One that is not ready may go while enough others are
 * (`unhealthyPodEvictionPolicy: IfHealthyBudget`, the default).
 */
function permits({ spec }: PodDisruptionBudget, pod: Pod, all: readonly Pod[]): boolean {
  const labels = Object.entries(spec?.selector?.matchLabels ?? {});
  const isSelected = ({ metadata }: KubeObject) => labels.every(([key, value]) => metadata.labels?.[key] === value);
  if (labels.length === 0 || !isSelected(pod)) return true;
  const healthy = all.filter(
    (each) => isSelected(each) && isReady(each) && each.metadata.deletionTimestamp === undefined,
  ).length;
  const wanted = Number(spec?.minAvailable ?? 0);
  return isReady(pod) ? healthy > wanted : healthy >= wanted;
}
