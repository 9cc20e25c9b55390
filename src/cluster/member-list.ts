import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { asOperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { endpointOf, type Identities } from "#certificates/dial.ts";
import { MEMBER_DEADLINE_MS } from "#cluster/member-answer.ts";
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

/** How many members are asked for the list before it counts as unknown: one may have lost its leader this very moment. */
const LIST_ATTEMPTS = 2;

/** Read live and linearizably in every pass; a member of another cluster is not asked. */
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
 * While an election spreads this lasts for moments. When it lasts longer, a second cluster has been formed under the identity of
 * the first, and neither's list may be believed.
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

/** Members of our cluster that follow a leader, voters only; the leader first, since it need not ask another one. */
function candidates(endpoints: ReadonlyMap<string, Observed<EndpointStatus>>, clusterId: ClusterId): readonly string[] {
  const able: { peer: string; leads: boolean }[] = [];
  for (const [peer, answer] of endpoints) {
    if (answer.is !== "present" || hexOf(answer.value.clusterId) !== hexOf(clusterId)) continue;
    const { leaderId, memberId, isLearner } = answer.value;
    if (leaderId !== undefined && !isLearner) able.push({ peer, leads: leaderId === memberId });
  }
  return able.sort((a, b) => Number(b.leads) - Number(a.leads)).map(({ peer }) => peer);
}
