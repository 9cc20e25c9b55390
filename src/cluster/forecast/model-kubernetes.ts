import { clientUrl } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import { clientScheme } from "#api/tls.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { present } from "#base/observed.ts";
import { awake, stopped, withMembers } from "#cluster/forecast/model-etcd.ts";
import { cleared, runningPod, takenOver } from "#cluster/forecast/model-pods.ts";
import { idOf, type KnownMember, knownMembers, takesPart } from "#cluster/members.ts";
import { givenUp, sickForMs, unfitForMs } from "#cluster/patience.ts";
import { isWaking } from "#cluster/sleep.ts";
import { type ClusterSnapshot, hostOf, peerNamed } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { needsHelp } from "#kube/pod.ts";

/**
 * The snapshot in which everything has happened that happens by itself while all goes well: pods that were to be made run, members that were
 * to start have all the data, and what was written has been seen by those whom it concerns. A member that somebody has to help stays as it
 * is, and so does one that is given up, with a pod or without one: it is replaced at once. Without a quorum everything stays, unless the
 * cluster falls asleep or wakes up.
 */
export function arrived(given: ClusterSnapshot): ClusterSnapshot {
  if (isAsleep(given.cluster)) return stopped(given);
  const snapshot = given.members.is !== "present" && isWaking(given) ? awake(given) : given;
  const [furthest] = answersIn(snapshot).sort((a, b) => b.raftIndex - a.raftIndex);
  if (snapshot.members.is !== "present" || furthest === undefined) return snapshot;
  const seen = cleared(snapshot);
  const known: ClusterSnapshot = { ...seen, peers: seen.peers.map(takenOver), budget: counted(seen.budget) };
  const lost = givenUp(known);
  return knownMembers(known).reduce((given, member) => {
    const peer = peerNamed(known, member.name);
    const isOurs = peer?.spec.memberID === member.id;
    return isOurs && !lost.some(({ id }) => id === member.id) ? withRunning(given, member, peer, furthest) : given;
  }, known);
}

function answersIn({ endpoints }: ClusterSnapshot): EndpointStatus[] {
  return [...endpoints.values()].flatMap((answer) => (answer.is === "present" ? [answer.value] : []));
}

/** The disruption controller has counted, and has nothing more to count. */
function counted(budget: ClusterSnapshot["budget"]): ClusterSnapshot["budget"] {
  if (budget === undefined) return undefined;
  const observed = { observedGeneration: budget.metadata.generation ?? 0, disruptedPods: {} };
  return { ...budget, status: { ...budget.status, ...observed } as NonNullable<typeof budget.status> };
}

/** @param furthest the answer of the member that knows most */
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
  // What it runs nobody has told while it gives no answer: so it is what its EtcdPeer says.
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

/** Whether it does not do its part, and that does not pass by itself as far as anybody can tell. */
function needsPatience(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  const pod = snapshot.pods.get(member.name);
  const isHelpless = !takesPart(snapshot, member) && pod !== undefined && needsHelp(pod);
  const forMs = Math.max(sickForMs(snapshot, member), unfitForMs(snapshot, member));
  return isHelpless || forMs >= snapshot.memberTimeoutMs;
}
