import { revisionOf } from "#api/revision.ts";
import { type KnownMember, knownMembers, memberNamed, ownVoters } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed, remembered } from "#cluster/snapshot.ts";
import { isOlderMinor, isRelease, isSameMinor, minorOf, whyNoPath } from "#etcd/version.ts";
import { whyNotConverted } from "./downgrade.ts";
import { whyNotBackedUp } from "./first-backup.ts";
import { releaseOnClaim, runningVersion } from "./versions.ts";

// Which releases members can move to (`whyNoPathTo`):
// - The releases alone decide, for all members alike: within a minor, to the next minor, and back to the previous one.
// When a member can move (`whyNotYet`):
// - Within the minor of its data: at any time.
// - To a newer minor: when all data is in the format of the running release. Right after a cancelled downgrade some is
//   not, and a later release may not read it. etcd converts it back within seconds.
// - To an older minor: when etcd's downgrade has converted the member's data. Also while some voter still runs that
//   minor: the cluster version was never later then.
// - A member without data gets its data from the others, and can get any release that the cluster has had.

/** Why members can never move to `spec.version`, as a message for people. */
export function whyNoVersionPath(snapshot: ClusterSnapshot): string | undefined {
  const { version } = snapshot.cluster.spec;
  const why = whyNoPathTo(snapshot, version);
  return why === undefined ? undefined : `${why}; it is ${version}, and the cluster runs ${runningVersion(snapshot)}`;
}

/** Why no member can ever move to this release from the releases in use. */
export function whyNoPathTo(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  for (const version of versionsInUse(snapshot)) {
    const why = whyNoPath(version, wanted);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** `spec.version`, when it is an older minor than a release in use and the members can move to it. */
export const askedDowngrade = remembered((snapshot): string | undefined => {
  const { version } = snapshot.cluster.spec;
  const isBack = versionsInUse(snapshot).some((each) => isOlderMinor(version, each));
  return isBack && whyNoPathTo(snapshot, version) === undefined ? version : undefined;
});

/** Whether some voter reports that it runs this minor: then the cluster as a whole speaks no later one. */
export function isSpoken(snapshot: ClusterSnapshot, wanted: string): boolean {
  return versionsReported(snapshot).some((version) => isSameMinor(version, wanted));
}

/**
 * Why this member, which may be new, cannot move to this release yet; `undefined` when it can. Only the release of its
 * data counts, not one that it got and has not run.
 */
export function whyNotYet(snapshot: ClusterSnapshot, name: string, wanted: string): string | undefined {
  const member = memberNamed(snapshot, name);
  const from = versionOfData(snapshot, name);
  if (member === undefined || from === undefined)
    return whyNotForward(snapshot, wanted) ?? whyNotForNewMember(snapshot, wanted);
  if (isOlderMinor(from, wanted)) return whyNotForward(snapshot, wanted);
  if (!isOlderMinor(wanted, from) || isSpoken(snapshot, wanted)) return undefined;
  return whyNotConverted(member, wanted);
}

/** Whether the spec asks for a newer minor that no member runs yet, and no recent backup is stored. */
export function lacksFirstBackup(snapshot: ClusterSnapshot): boolean {
  const { version } = snapshot.cluster.spec;
  return whyNoPathTo(snapshot, version) === undefined && whyBackupFirst(snapshot, version) !== undefined;
}

function whyBackupFirst(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const isNewer = versionsInUse(snapshot).every((version) => isOlderMinor(version, wanted));
  return isNewer && versionsInUse(snapshot).length > 0 ? whyNotBackedUp(snapshot) : undefined;
}

/**
 * The first release with raft entries that every supported release can read, and the first one that cannot read older
 * entries.
 */
export const FIRST_READABLE = "3.6.0";
export const FIRST_STRICT = "3.7.0";

/**
 * Whether the status records that the member reads no entries older than FIRST_READABLE at its next start; see
 * raft-entries.ts.
 */
export function hasReadableEntries({ cluster }: ClusterSnapshot, { id }: KnownMember): boolean {
  const from = cluster.status?.members?.find((member) => member.id === id)?.raftEntriesFrom;
  return from === minorOf(FIRST_READABLE);
}

/**
 * Why no member can be the first with this release. After its start it reads its raft log since the last snapshot, and
 * may find unreadable entries. `undefined` once a member runs it.
 */
export function whyOldEntries(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const versions = versionsInUse(snapshot);
  if (versions.length === 0 || isOlderMinor(wanted, FIRST_STRICT) || whyNoPathTo(snapshot, wanted) !== undefined)
    return undefined;
  if (!versions.every((version) => isOlderMinor(version, FIRST_STRICT))) return undefined;
  const old = ownVoters(snapshot).find((member) => !hasReadableEntries(snapshot, member));
  if (old === undefined) return undefined;
  return `the raft log of ${old.name} may have entries of etcd 3.5, which etcd ${minorOf(wanted)} cannot read`;
}

/**
 * Why no member can get a newer minor yet. No recent backup is stored, a raft log may have old entries, or data is (or
 * will be) in an older format.
 */
function whyNotForward(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const first = whyBackupFirst(snapshot, wanted) ?? whyOldEntries(snapshot, wanted);
  if (first !== undefined) return first;
  for (const { name, health } of ownVoters(snapshot)) {
    if (health.is !== "healthy" || !isRelease(health.status.version)) continue;
    const { version, storageVersion, downgradeTo } = health.status;
    if (!isOlderMinor(version, wanted)) continue;
    const older = [downgradeTo, storageVersion].find(
      (each) => each !== undefined && isRelease(each) && isOlderMinor(each, version),
    );
    if (older !== undefined) return `the data of ${name} is in, or is being converted to, the format of ${older}`;
  }
  return undefined;
}

/** Why a member without data cannot start with this release: the cluster already speaks a newer one. */
function whyNotForNewMember(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const newer = versionsInUse(snapshot).find((version) => isOlderMinor(wanted, version));
  return newer === undefined || isSpoken(snapshot, wanted)
    ? undefined
    : `the cluster runs ${newer}, and no voter reports that it runs ${minorOf(wanted)}`;
}

/** The release that wrote the member's data; `undefined` when it never ran. */
export function versionOfData(snapshot: ClusterSnapshot, name: string): string | undefined {
  const member = memberNamed(snapshot, name);
  return member !== undefined && mayHaveData(member) ? versionInUse(snapshot, member) : undefined;
}

/** The releases that voters report, also those of voters without a leader. */
const versionsReported = remembered((snapshot): readonly string[] =>
  ownVoters(snapshot).flatMap(({ health }) =>
    "status" in health && health.status !== undefined ? [health.status.version].filter(isRelease) : [],
  ),
);

/**
 * The releases in use: those that wrote members' data or that members are starting with. A member that never ran has
 * none.
 */
export const versionsInUse = remembered((snapshot): readonly string[] => {
  const versions = knownMembers(snapshot)
    .filter((member) => member.isOurs && mayHaveData(member))
    .flatMap((member) => versionInUse(snapshot, member) ?? []);
  return [...new Set(versions)].sort();
});

/**
 * The release that the member last reported, by its answer, the status or its claim. The release in its EtcdPeer
 * replaces one that is invalid or contradicts the image that runs.
 */
function versionInUse(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  const { cluster } = snapshot;
  const peer = peerNamed(snapshot, member.name);
  const { health } = member;
  const isAnswer = health.is === "healthy";
  const recorded = cluster.status?.members?.find(({ id }) => id === member.id)?.version;
  const reported = isAnswer ? health.status.version : (recorded ?? releaseOnClaim(snapshot, member));
  // A release that never answered and does not run is not in use: the spec may change at any time.
  if (reported === undefined) return mayRun(member) ? peer?.spec.version : undefined;
  const isItsImage = peer !== undefined && member.template.revision === revisionOf(peer.spec);
  if (!isRelease(reported) || (isAnswer && isItsImage)) return peer?.spec.version;
  return reported;
}

/** Whether it has run, or may be about to. */
function mayHaveData(member: KnownMember): boolean {
  return member.hasStarted || mayRun(member);
}

/** Whether etcd runs in the member's pod, or may be about to. */
function mayRun({ container }: KnownMember): boolean {
  return container.is === "running" || container.is === "waiting";
}
