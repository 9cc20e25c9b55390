import { clientUrl } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import { clientScheme } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import { isWaking } from "#cluster/lifecycle/sleep.ts";
import { idOf, type KnownMember, knownMembers } from "#cluster/members/members.ts";
import { votersToReplace } from "#cluster/members/patience.ts";
import { type ClusterSnapshot, hostOf, peerNamed } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { needsHelp } from "#kube/pod.ts";
import { awake, stopped, withMembers } from "./model-etcd.ts";
import { cleared, runningPod, takenOver } from "./model-pods.ts";

/**
 * The snapshot after everything that happens without the operator, if nothing fails: wanted pods run, starting members
 * have all data, and caches are current. A member that needs a person stays as it is, and so does one that is being
 * replaced. Without a quorum everything stays, except when the cluster falls asleep or wakes up.
 */
export function arrived(before: ClusterSnapshot): ClusterSnapshot {
  if (isAsleep(before.cluster)) return stopped(before);
  const snapshot = before.members.is !== "present" && isWaking(before) ? awake(before) : before;
  const [furthest] = answersIn(snapshot).sort((a, b) => b.raftIndex - a.raftIndex);
  if (snapshot.members.is !== "present" || furthest === undefined) return snapshot;
  const seen = cleared(snapshot);
  const known: ClusterSnapshot = { ...seen, peers: seen.peers.map(takenOver), budget: counted(seen.budget) };
  const lost = votersToReplace(known);
  return knownMembers(known).reduce((now, member) => {
    const peer = peerNamed(known, member.name);
    const isOurs = peer?.spec.memberID === member.id;
    return isOurs && !lost.some(({ id }) => id === member.id) ? withRunning(now, member, peer, furthest) : now;
  }, known);
}

function answersIn({ endpoints }: ClusterSnapshot): EndpointStatus[] {
  return [...endpoints.values()].flatMap((answer) => (answer.is === "present" ? [answer.value] : []));
}

/** The budget after the disruption controller has counted everything. */
function counted(budget: ClusterSnapshot["budget"]): ClusterSnapshot["budget"] {
  if (budget === undefined) return undefined;
  const observed = { observedGeneration: budget.metadata.generation ?? 0, disruptedPods: {} };
  return { ...budget, status: { ...budget.status, ...observed } as NonNullable<typeof budget.status> };
}

/** @param furthest the answer of the member with the most entries */
function withRunning(
  snapshot: ClusterSnapshot,
  member: KnownMember,
  peer: EtcdPeer,
  furthest: EndpointStatus,
): ClusterSnapshot {
  const { name, isLearner } = member;
  const before = snapshot.pods.get(name);
  if (before !== undefined && needsPatience(snapshot, member)) return snapshot;
  const pod = before?.metadata.deletionTimestamp === undefined ? before : undefined;
  const [id, answer] = [idOf(member), snapshot.endpoints.get(name)];
  // A member that does not answer has an unknown version: spec.version of its EtcdPeer is assumed.
  const own = answer?.is === "present" ? answer.value : { ...furthest, memberId: id, version: peer.spec.version };
  const { raftIndex } = furthest;
  const status = { ...own, isLearner, raftIndex, raftAppliedIndex: raftIndex };
  const listed = withMembers(snapshot, (members) =>
    members.map((each) =>
      each.id === id
        ? { ...each, name, clientUrls: [clientUrl(hostOf(snapshot, name), clientScheme(snapshot.cluster))] }
        : each,
    ),
  );
  return {
    ...listed,
    pods: new Map(snapshot.pods).set(name, runningPod(snapshot, peer, pod)),
    endpoints: new Map(snapshot.endpoints).set(name, present(status)),
  };
}

/** Whether the member is unhealthy, and is not expected to recover without a person. */
function needsPatience(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const pod = snapshot.pods.get(member.name);
  const isHelpless = !member.participatesInQuorum && pod !== undefined && needsHelp(pod);
  const forMs = Math.max(member.history.sickForMs, member.history.unfitForMs);
  return isHelpless || forMs >= snapshot.memberTimeoutMs;
}
