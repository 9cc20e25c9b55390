import { ETCD_CONTAINER, METRICS_PORT } from "#api/names.ts";
import { endpointOf, type Identities, noIdentities } from "#certificates/dial.ts";
import type { EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import type { MemberId } from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { dialAddress } from "#kube/pod.ts";

/**
 * Options of one request. The deadline in milliseconds is short, so that a starting member does not delay the next
 * check.
 */
const OPTIONS = { signal: new AbortController().signal, deadlineMs: 300 };

/**
 * Whether the cluster has exactly so many members, all of them started voters, in a member list confirmed by the
 * quorum. Each must pass etcd's own health check in one of these pods: it has a leader and answers linearizable reads.
 */
export async function areHealthyVoters(etcd: EtcdClient, pods: readonly Pod[], count: number): Promise<boolean> {
  const voters = await startedVoters(etcd, pods);
  if (voters?.length !== count) return false;
  // Last, since it reads a hundred kilobytes of metrics from each member.
  const answers = await Promise.all(addresses(pods, METRICS_PORT).map((address) => etcd.health(address, OPTIONS)));
  const healthy = new Set(answers.flatMap((answer) => (answer.is === "present" ? answer.value : [])));
  return voters.every((id) => healthy.has(id));
}

/**
 * Whether the cluster has exactly so many started voters, and each answers at its client port and has a leader.
 * @param identities for members with TLS
 */
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

/** IDs of the voters; undefined when no pod returns a confirmed member list, or a member is not a started voter. */
async function startedVoters(
  etcd: EtcdClient,
  pods: readonly Pod[],
  identities: Identities = noIdentities,
): Promise<readonly MemberId[] | undefined> {
  const asked = endpoints(pods, identities).map((endpoint) =>
    etcd.memberList(endpoint, { ...OPTIONS, linearizable: true }),
  );
  // A refused or late answer means "not yet".
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
