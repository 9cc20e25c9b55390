import { type KnownMember, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { isOlderMinor, isRelease, isSameMinor, minorOf } from "#etcd/version.ts";
import { enabledDowngrade } from "./downgrade.ts";
import { FIRST_READABLE, hasReadableEntries, versionsInUse, whyOldEntries } from "./version-path.ts";
import { stoppedUpdate, whyRefused } from "./wanted-template.ts";

// Why can a cluster that ran etcd 3.5 not simply move from 3.6 to 3.7?
// - Members of etcd 3.5 write some raft entries as v2 requests: member attributes and the cluster version. Members of
//   etcd 3.6 still read them. Those of etcd 3.7 stop with "unmarshal should never fail" if one follows the last snapshot
//   on disk. Members of etcd 3.6 take a snapshot every 10,000 entries, which may take months in a quiet cluster.
// How a member gets a snapshot at once:
// - etcd 3.6 forces one on each member when the cluster version is lowered (ClusterVersionSet in
//   server/etcdserver/apply/apply.go). The operator enables etcd's downgrade to 3.5, waits until each member has
//   converted its data, and cancels it. No member restarts, and no key and no revision changes.
// What proves that a member has its snapshot:
// - It reports an enabled downgrade to 3.5 and data in that format. It converts its data only after it has applied the
//   entry that lowers the cluster version, and that entry forces the snapshot.
// - A member that is killed in between replays the entries since its last snapshot. If they include one of 3.5, they
//   include the one that raised the version to 3.6, so the replay forces the snapshot again.
// Why it is recorded in the status:
// - etcd does not report it later. The record is per member: one that joins later gets its log from the leader,
//   including old entries.
// Sources: server/etcdserver in etcd 3.5 to 3.7; test/etcd/raft-entries.test.ts.

/** The minor release of the downgrade that makes members take snapshots. */
export const SNAPSHOTS_BY = "3.5";

/**
 * For the member's status: the minor release that wrote the oldest raft entries of its next start, or a newer one.
 * `undefined` when older entries may be among them.
 */
export function raftEntriesFrom(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  // A member of 3.5 writes entries into every log. This includes one that may start at any time.
  const assigned = snapshot.peers.map(({ spec }) => spec.version);
  if ([...versionsInUse(snapshot), ...assigned].some((version) => isOlderMinor(version, FIRST_READABLE)))
    return undefined;
  if (hasReadableEntries(snapshot, member)) return minorOf(FIRST_READABLE);
  const { health } = member;
  if (health.is !== "healthy") return undefined;
  const isBefore = (version: string | undefined) =>
    version !== undefined && isRelease(version) && isOlderMinor(version, FIRST_READABLE);
  return isBefore(health.status.downgradeTo) && isBefore(health.status.storageVersion)
    ? minorOf(FIRST_READABLE)
    : undefined;
}

/** The first member that must take a snapshot before members go to `spec.version`, as a sentence; `undefined` when none must. */
export function whySnapshotsFirst(snapshot: ClusterSnapshot): string | undefined {
  if (stoppedUpdate(snapshot) !== undefined || whyRefused(snapshot).length > 0) return undefined;
  return whyOldEntries(snapshot, snapshot.cluster.spec.version);
}

/** Whether a downgrade is enabled only so that members take snapshots. */
export function isDowngradeForSnapshots(snapshot: ClusterSnapshot): boolean {
  const enabled = enabledDowngrade(snapshot);
  return (
    enabled !== undefined && isSameMinor(enabled.to, `${SNAPSHOTS_BY}.0`) && whySnapshotsFirst(snapshot) !== undefined
  );
}

/**
 * The first voter with data that is not in the format of its own release, or without a reported format. A build may
 * report a version that is no release: then the release in its EtcdPeer counts.
 */
export function unconvertedVoter(snapshot: ClusterSnapshot): KnownMember | undefined {
  return ownVoters(snapshot).find(({ name, health }) => {
    if (health.is !== "healthy") return true;
    const { version, storageVersion } = health.status;
    const runs = isRelease(version) ? version : peerNamed(snapshot, name)?.spec.version;
    const areReleases = runs !== undefined && storageVersion !== undefined && isRelease(storageVersion);
    return !areReleases || !isSameMinor(runs, storageVersion);
  });
}
