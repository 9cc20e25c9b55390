import { CLIENT_PORT } from "#api/names.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";

/** Longest that one question may take, in milliseconds: a member that is just starting must not hold up the next look. */
const DEADLINE_MS = 300;

/**
 * Whether exactly these pods are a cluster in full health: each answers and follows a leader, all in one cluster, and a list
 * confirmed by a majority shows as many started voters.
 */
export async function areHealthyVoters(etcd: EtcdClient, pods: readonly Pod[], count: number): Promise<boolean> {
  const addresses = pods.flatMap((pod) => dialAddress(pod, CLIENT_PORT) ?? []);
  if (pods.length !== count || addresses.length !== count) return false;
  const options = { signal: new AbortController().signal, deadlineMs: DEADLINE_MS };
  const answers = await Promise.all(addresses.map((address) => etcd.probe({ address }, options)));
  const clusters = new Set<bigint>();
  for (const answer of answers) {
    if (answer.is !== "present" || answer.value.leaderId === undefined) return false;
    clusters.add(answer.value.clusterId);
  }
  if (clusters.size !== 1) return false;
  const [address = ""] = addresses;
  // Refused or late is "not yet", like everything else here.
  const list = await etcd.memberList({ address }, { ...options, linearizable: true }).catch(() => undefined);
  const voters = list?.members.filter((member) => member.name !== "" && !member.isLearner) ?? [];
  return voters.length === count && list?.members.length === count;
}
