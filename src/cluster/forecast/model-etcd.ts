import { type Observed, present, unknown } from "#base/observed.ts";
import { idOf, knownMembers } from "#cluster/members/members.ts";
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

/** The snapshot after a restart of the member: it answers with the same ID, and with the release of its EtcdPeer. */
export function restarted(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const version = peerNamed(snapshot, name)?.spec.version;
  const endpoints = said(snapshot, (_, each) => {
    if (each !== name || version === undefined) return {};
    // etcd 3.5 reports neither downgrades nor storage versions.
    return reportsDowngrades(version) ? { version } : { version, downgradeTo: undefined, storageVersion: undefined };
  });
  return { ...snapshot, endpoints, pods: without(snapshot.pods, name) };
}

/**
 * The snapshot in which a downgrade to this release is enabled, and all data converted. `undefined`: none is enabled.
 */
export function withDowngrade(snapshot: ClusterSnapshot, to: string | undefined): ClusterSnapshot {
  const format = to ?? formatSpoken(snapshot);
  const endpoints = said(snapshot, ({ version, storageVersion }) =>
    isRelease(version) && reportsDowngrades(version)
      ? { downgradeTo: to, storageVersion: format ?? storageVersion }
      : {},
  );
  return { ...snapshot, endpoints };
}

/**
 * The storage version without a downgrade: the oldest minor release among the members; `undefined` when one reports
 * none.
 */
function formatSpoken({ endpoints }: ClusterSnapshot): string | undefined {
  const versions = [...endpoints.values()].flatMap((seen) => (seen.is === "present" ? [seen.value.version] : []));
  const [first, ...others] = versions;
  if (first === undefined || !versions.every(isRelease)) return undefined;
  return `${minorOf(others.reduce((oldest, each) => (isOlderMinor(each, oldest) ? each : oldest), first))}.0`;
}

function reportsDowngrades(version: string): boolean {
  return !isOlderMinor(version, "3.6.0");
}

/** The snapshot with all members stopped. Health histories are reset, as observe.ts does. */
export function stopped(snapshot: ClusterSnapshot): ClusterSnapshot {
  const members = unknown("its members are stopped");
  return { ...snapshot, pods: new Map(), endpoints: new Map(), unpublished: new Map(), histories: new Map(), members };
}

/** A placeholder for counts that cannot be predicted. */
const SOME = 1;

/** The snapshot after a wake-up: all members are listed, one leads and answers; the others start as usual. */
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
      clientUrls: [], // A member publishes its client URLs when it starts.
      isLearner: member.isLearner,
    }),
  );
  const version = peerNamed(snapshot, leader.name)?.spec.version ?? snapshot.cluster.spec.version;
  const status: EndpointStatus = {
    ...{ clusterId, memberId: idOf(leader), leaderId: idOf(leader), version, isLearner: leader.isLearner, alarms: [] },
    ...{ raftIndex: SOME, raftAppliedIndex: SOME, raftTerm: SOME, dbSizeBytes: SOME, dbSizeInUseBytes: SOME },
    ...{ dbSizeQuotaBytes: undefined, downgradeTo: undefined },
    storageVersion: isRelease(version) && reportsDowngrades(version) ? `${minorOf(version)}.0` : undefined,
  };
  return {
    ...snapshot,
    endpoints: new Map([[leader.name, present(status)]]),
    members: present({ clusterId, answeredBy: idOf(leader), raftTerm: SOME, members }),
  };
}

/** The snapshot in which etcd no longer lists the member. Its process has ended; its pod still exists. */
export function withoutMember(snapshot: ClusterSnapshot, name: string, id: MemberId): ClusterSnapshot {
  const left = withMembers(snapshot, (members) => members.filter((member) => member.id !== id));
  const endpoints = new Map(snapshot.endpoints).set(name, unknown("it is no longer a member"));
  return { ...left, endpoints, unpublished: without(snapshot.unpublished, name) };
}

export function withLeader(snapshot: ClusterSnapshot, leaderId: MemberId): ClusterSnapshot {
  return { ...snapshot, endpoints: said(snapshot, () => ({ leaderId })) };
}

/** The snapshot without this alarm of the member. */
export function withoutAlarm(
  snapshot: ClusterSnapshot,
  { id, type }: Omit<Alarm, "memberId"> & { id: MemberId },
): ClusterSnapshot {
  const isLowered = (alarm: Alarm) => alarm.memberId === id && alarm.type === type;
  const endpoints = said(snapshot, ({ alarms }) => ({ alarms: alarms.filter((alarm) => !isLowered(alarm)) }));
  return { ...snapshot, endpoints };
}

/** The answers, each with this change. */
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
