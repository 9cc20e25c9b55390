import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { asOperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import type { EtcdClient } from "#etcd/client.ts";
import {
  type ClusterId,
  clusterIdFromHex,
  type EndpointStatus,
  hexOf,
  type MemberId,
  type MemberList,
} from "#etcd/types.ts";
import type { Pod } from "#kube/kinds.ts";
import { MEMBER_DEADLINE_MS } from "./member-answer.ts";

/**
 * How many members are asked for the list before it counts as unknown: one may have just lost its leader. More: a pass
 * without a quorum takes longer.
 */
const LIST_ATTEMPTS = 2;

/** The linearizable member list, read live in every pass. Members of another cluster are not asked. */
export async function askForList(
  { etcd, identities }: { readonly etcd: Pick<EtcdClient, "memberList">; readonly identities: Identities },
  cluster: EtcdCluster,
  pods: ReadonlyMap<string, Pod>,
  endpoints: ReadonlyMap<string, Observed<EndpointStatus>>,
  signal: AbortSignal,
): Promise<Observed<MemberList>> {
  const recorded = cluster.status?.identity?.clusterID;
  if (recorded === undefined) return unknown("the cluster has no identity yet");
  const expectedClusterId = clusterIdFromHex(recorded);
  if (leadersOf(endpoints, expectedClusterId).length > 1) return unknown(SPLIT);
  let why = "no member with a leader answers";
  for (const peer of candidates(endpoints, expectedClusterId).slice(0, LIST_ATTEMPTS)) {
    const pod = pods.get(peer);
    const endpoint = pod === undefined ? absent : endpointOf(pod, identities);
    if (endpoint.is !== "present") continue;
    try {
      const options = { signal, deadlineMs: MEMBER_DEADLINE_MS, linearizable: true, expectedClusterId };
      return present(await etcd.memberList(endpoint.value, options));
    } catch (thrown) {
      why = asOperatorError(thrown).message;
    }
  }
  return unknown(why);
}

/**
 * Lasts for moments during an election. Longer: a second cluster was formed under the same identity, and neither list
 * is reliable.
 */
const SPLIT = "members of the cluster follow different leaders";

function leadersOf(
  endpoints: ReadonlyMap<string, Observed<EndpointStatus>>,
  clusterId: ClusterId,
): readonly MemberId[] {
  const leaders = new Set<MemberId>();
  for (const answer of endpoints.values()) {
    if (answer.is !== "present" || answer.value.clusterId !== clusterId || answer.value.isLearner) continue;
    if (answer.value.leaderId !== undefined) leaders.add(answer.value.leaderId);
  }
  return [...leaders];
}

/** Voters of this cluster that follow a leader; the leader first, since it need not forward the request. */
function candidates(endpoints: ReadonlyMap<string, Observed<EndpointStatus>>, clusterId: ClusterId): readonly string[] {
  const able: { peer: string; leads: boolean }[] = [];
  for (const [peer, answer] of endpoints) {
    if (answer.is !== "present" || hexOf(answer.value.clusterId) !== hexOf(clusterId)) continue;
    const { leaderId, memberId, isLearner } = answer.value;
    if (leaderId !== undefined && !isLearner) able.push({ peer, leads: leaderId === memberId });
  }
  return able.sort((a, b) => Number(b.leads) - Number(a.leads)).map(({ peer }) => peer);
}
