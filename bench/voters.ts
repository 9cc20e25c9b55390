import { ETCD_CONTAINER, METRICS_PORT } from "#api/names.ts";
import { endpointOf, type Identities, noIdentities } from "#certificates/dial.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { MemberId } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";

/** Longest that one question may take, in milliseconds: a member that is just starting must not hold up the next look. */
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 300 };

/**
 * Whether the cluster has exactly so many members, all started voters by a list that a majority confirms, and each of them passes
 * etcd's own health check in one of these pods: it follows a leader and reads linearizably.
 */
export async function areHealthyVoters(etcd: EtcdClient, pods: readonly Pod[], count: number): Promise<boolean> {
  const voters = await startedVoters(etcd, pods);
  if (voters?.length !== count) return false;
  // The last question, since a hundred kilobytes of metrics are read for each.
  const answers = await Promise.all(addresses(pods, METRICS_PORT).map((address) => etcd.health(address, OPTIONS)));
  const healthy = new Set(answers.flatMap((answer) => (answer.is === "present" ? answer.value : [])));
  return voters.every((id) => healthy.has(id));
}

/** Likewise, and each of them answers at its client port and follows a leader. @param identities for members that speak TLS */
export async function areServing(
  etcd: EtcdClient,
  pods: readonly Pod[],
  count: number,
  identities: Identities = noIdentities,
): Promise<boolean> {
  const voters = await startedVoters(etcd, pods, identities);
  if (voters?.length !== count) return false;
  const answers = await Promise.all(endpoints(pods, identities).map((endpoint) => etcd.probe(endpoint, OPTIONS)));
  const serving = new Set(
    answers.flatMap((answer) =>
      answer.is === "present" && answer.value.leaderId !== undefined ? answer.value.memberId : [],
    ),
  );
  return voters.every((id) => serving.has(id));
}

/** By the first pod that gives a confirmed list; `undefined` when none does, or when a member is not a started voter. */
async function startedVoters(
  etcd: EtcdClient,
  pods: readonly Pod[],
  identities: Identities = noIdentities,
): Promise<readonly MemberId[] | undefined> {
  const asked = endpoints(pods, identities).map((endpoint) =>
    etcd.memberList(endpoint, { ...OPTIONS, linearizable: true }),
  );
  // Refused or late is "not yet", like everything else here.
  const list = await Promise.any(asked).catch(() => undefined);
  const isWhole = list?.members.every(({ name, isLearner }) => name !== "" && !isLearner) ?? false;
  return isWhole ? list?.members.map(({ id }) => id) : undefined;
}

function endpoints(pods: readonly Pod[], identities: Identities): readonly Endpoint[] {
  return pods.flatMap((pod) => {
    const endpoint = endpointOf(pod, identities);
    return endpoint.is === "present" ? endpoint.value : [];
  });
}

function addresses(pods: readonly Pod[], port: number): readonly string[] {
  return pods.flatMap((pod) => dialAddress(pod, ETCD_CONTAINER, port) ?? []);
}
