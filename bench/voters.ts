import { CLIENT_PORT, METRICS_PORT } from "#api/names.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { MemberId } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";

/** Longest that one question may take, in milliseconds: a member that is just starting must not hold up the next look. */
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 300 };

/**
 * Whether exactly these pods are a cluster in full strength: each passes etcd's own health check (it follows a leader and reads
 * linearizably), and a list confirmed by a majority shows them, and nobody else, as started voters.
 */
export async function areHealthyVoters(etcd: EtcdClient, pods: readonly Pod[], count: number): Promise<boolean> {
  const addresses = pods.flatMap((pod) => dialAddress(pod, METRICS_PORT) ?? []);
  const voters = addresses.length === count && pods.length === count ? await startedVoters(etcd, pods) : undefined;
  if (voters?.length !== count) return false;
  // The last question, since a hundred kilobytes of metrics are read for each.
  const answers = await Promise.all(addresses.map((address) => etcd.health(address, OPTIONS)));
  const healthy = new Set(answers.flatMap((answer) => (answer.is === "present" ? answer.value : [])));
  return voters.every((id) => healthy.has(id));
}

/** Whether, besides, each of them answers at its client port and follows a leader, all in one cluster. */
export async function areServing(etcd: EtcdClient, pods: readonly Pod[], count: number): Promise<boolean> {
  const answers = await Promise.all(clientAddresses(pods).map((address) => etcd.probe({ address }, OPTIONS)));
  const clusters = new Set<bigint>();
  for (const answer of answers) {
    if (answer.is !== "present" || answer.value.leaderId === undefined) return false;
    clusters.add(answer.value.clusterId);
  }
  if (clusters.size !== 1 || answers.length !== count || pods.length !== count) return false;
  return (await startedVoters(etcd, pods))?.length === count;
}

/** By the first of the pods that confirms a list; `undefined` when none does, or when some member is not a started voter. */
async function startedVoters(etcd: EtcdClient, pods: readonly Pod[]): Promise<readonly MemberId[] | undefined> {
  for (const address of clientAddresses(pods)) {
    // Refused or late is "not yet", like everything else here.
    const list = await etcd.memberList({ address }, { ...OPTIONS, linearizable: true }).catch(() => undefined);
    if (list !== undefined)
      return list.members.every(({ name, isLearner }) => name !== "" && !isLearner)
        ? list.members.map(({ id }) => id)
        : undefined;
  }
  return undefined;
}

function clientAddresses(pods: readonly Pod[]): readonly string[] {
  return pods.flatMap((pod) => dialAddress(pod, CLIENT_PORT) ?? []);
}
