import { rfc3339 } from "#base/timestamp.ts";
import { POD_DISRUPTION_BUDGETS, PODS, type Pod, type PodDisruptionBudget } from "#kube/kinds.ts";
import { isOver } from "./containers.ts";
import { isSelected } from "./controllers.ts";
import { type ListedMember, membersOf } from "./disk.ts";
import type { Process } from "./etcd.ts";
import { isReady } from "./kubelet.ts";
import type { PeoplesParts } from "./people.ts";
import { whyNotAdd, whyNotRemove } from "./reconfiguration.ts";

// What administrators do with etcdctl and kubectl drain, next to the operator.

/**
 * `etcdctl member add own --peer-urls …`, with or without `--learner`, and the member's process on a machine of the
 * person.
 */
export function addOwnMember({ etcd, tell }: PeoplesParts, isLearner: boolean): boolean {
  const leader = leaderIn([...etcd.processes.values()].filter((process) => etcd.leaderOf(process) === process));
  // A person's own member has no certificate, so it cannot join members that use TLS.
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

/** A person removes their own members again, where etcd allows it. */
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
  // A pod that has ended may always be evicted.
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
 * Whether the budget permits the eviction: checkAndDecrement in pkg/registry/core/pod/storage/eviction.go. It uses the
 * last count of the disruption controller, which must have seen the newest budget. A pod that is not Ready may be
 * evicted while enough others are Ready (`unhealthyPodEvictionPolicy: IfHealthyBudget`, the default). These are counted
 * now, because a simulated pod becomes unready as soon as it follows no leader. A real one becomes unready five probes
 * later, after the controller's next count.
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
