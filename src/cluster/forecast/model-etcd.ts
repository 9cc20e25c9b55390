import { type Observed, present, unknown } from "#base/observed.ts";
import { idOf, knownMembers } from "#cluster/members.ts";
import { type ClusterSnapshot, identityOf, peerNamed, urlOf } from "#cluster/snapshot.ts";
import { type Alarm, clusterIdFromHex, type EndpointStatus, type Member, type MemberId } from "#etcd/types.ts";
import { isOlderMinor, isRelease, minorOf } from "#etcd/version.ts";

/** The snapshot with another member list. */
export function withMembers(
  snapshot: ClusterSnapshot,
  change: (members: readonly Member[]) => readonly Member[],
): ClusterSnapshot {
  if (snapshot.members.is !== "present") return snapshot;
  const { value } = snapshot.members;
  return { ...snapshot, members: present({ ...value, members: change(value.members) }) };
}

/** The snapshot in which the member's pod is gone. The next one answers as the same member, with the release that its EtcdPeer says. */
export function restarted(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const version = peerNamed(snapshot, name)?.spec.version;
  const endpoints = said(snapshot, (_, each) => {
    if (each !== name || version === undefined) return {};
    // Release 3.5 says nothing of downgrades and formats.
    return tellsOfDowngrades(version) ? { version } : { version, downgradeTo: undefined, storageVersion: undefined };
  });
  return { ...snapshot, endpoints, pods: without(snapshot.pods, name) };
}

/** The snapshot in which etcd's downgrade leads there, and all data has been converted; `undefined`: none is enabled. */
export function withDowngrade(snapshot: ClusterSnapshot, to: string | undefined): ClusterSnapshot {
  const endpoints = said(snapshot, ({ version, storageVersion }) =>
    isRelease(version) && tellsOfDowngrades(version) ? { downgradeTo: to, storageVersion: to ?? storageVersion } : {},
  );
  return { ...snapshot, endpoints };
}

function tellsOfDowngrades(version: string): boolean {
  return !isOlderMinor(version, "3.6.0");
}

/** The snapshot in which nobody runs. What was counted of members is forgotten: that is observe.ts's part. */
export function stopped(snapshot: ClusterSnapshot): ClusterSnapshot {
  const members = unknown("its members are stopped");
  return { ...snapshot, pods: new Map(), endpoints: new Map(), unpublished: new Map(), histories: new Map(), members };
}

/** How much a member has of what nobody can tell beforehand. */
const SOME = 1;

/** The snapshot in which all who slept are listed, and one of them leads and answers; the others come up as ever. */
export function awake(snapshot: ClusterSnapshot): ClusterSnapshot {
  const known = knownMembers(snapshot);
  const leader = known.find((member) => !member.isLearner);
  const identity = identityOf(snapshot);
  if (leader === undefined || identity === undefined) return snapshot;
  const clusterId = clusterIdFromHex(identity.clusterID);
  const members = known.map(
    (member): Member => ({
      id: idOf(member),
      name: member.name,
      peerUrls: [urlOf(snapshot, member.name)],
      clientUrls: [], // Whoever comes up announces them.
      isLearner: member.isLearner,
    }),
  );
  const version = peerNamed(snapshot, leader.name)?.spec.version ?? snapshot.cluster.spec.version;
  const status: EndpointStatus = {
    ...{ clusterId, memberId: idOf(leader), leaderId: idOf(leader), version, isLearner: leader.isLearner, alarms: [] },
    ...{ raftIndex: SOME, raftAppliedIndex: SOME, raftTerm: SOME, dbSizeBytes: SOME, dbSizeInUseBytes: SOME },
    ...{ dbSizeQuotaBytes: undefined, downgradeTo: undefined },
    storageVersion: isRelease(version) && tellsOfDowngrades(version) ? `${minorOf(version)}.0` : undefined,
  };
  return {
    ...snapshot,
    endpoints: new Map([[leader.name, present(status)]]),
    members: present({ clusterId, answeredBy: idOf(leader), raftTerm: SOME, members }),
  };
}

/** The snapshot in which etcd lists the member no more. Its process has ended; its pod is still there. */
export function withoutMember(snapshot: ClusterSnapshot, name: string, id: MemberId): ClusterSnapshot {
  const left = withMembers(snapshot, (members) => members.filter((member) => member.id !== id));
  const endpoints = new Map(snapshot.endpoints).set(name, unknown("it is no member any more"));
  return { ...left, endpoints, unpublished: without(snapshot.unpublished, name) };
}

export function withLeader(snapshot: ClusterSnapshot, leaderId: MemberId): ClusterSnapshot {
  return { ...snapshot, endpoints: said(snapshot, () => ({ leaderId })) };
}

/** Without the alarms of a member. */
export function withoutAlarm(
  snapshot: ClusterSnapshot,
  { id, type }: Omit<Alarm, "memberId"> & { id: MemberId },
): ClusterSnapshot {
  const isLowered = (alarm: Alarm) => alarm.memberId === id && alarm.type === type;
  const endpoints = said(snapshot, ({ alarms }) => ({ alarms: alarms.filter((alarm) => !isLowered(alarm)) }));
  return { ...snapshot, endpoints };
}

/** The answers, each with something else in it. */
function said(
  { endpoints }: ClusterSnapshot,
  change: (status: EndpointStatus, name: string) => Partial<EndpointStatus>,
): ReadonlyMap<string, Observed<EndpointStatus>> {
  return new Map(
    [...endpoints].map(([name, answer]) => [
      name,
      answer.is === "present" ? present({ ...answer.value, ...change(answer.value, name) }) : answer,
    ]),
  );
}

export function without<T>(map: ReadonlyMap<string, T>, name: string): ReadonlyMap<string, T> {
  return new Map([...map].filter(([each]) => each !== name));
}
