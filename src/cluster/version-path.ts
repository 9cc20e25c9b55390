import { revisionOf } from "#api/revision.ts";
import { whyNotConverted } from "#cluster/downgrade.ts";
import { whyNotBackedUp } from "#cluster/first-backup.ts";
import { health, type KnownMember, knownMembers, memberNamed, ownVoters } from "#cluster/members.ts";
import { type ClusterSnapshot, peerNamed, remembered } from "#cluster/snapshot.ts";
import { isStuck } from "#cluster/standstill.ts";
import { runningRevision, runningVersion } from "#cluster/versions.ts";
import { isOlderMinor, isRelease, isSameMinor, minorOf, whyNoPath } from "#etcd/version.ts";

// To which releases can members go?
//   Whether there is a way at all is a matter of all of them alike, and of the releases alone: within a minor, forward to the next one, and
//   back to the one before (`whyNoPathTo`).
// And when?
//   Within the minor of its data a member goes at any time. Forward when all data is in the format of the release that runs: right after a
//   downgrade was cancelled some is not, and a later release may not read it; etcd converts it back within seconds. Back when etcd's own
//   downgrade has brought the member's data there, or while some voter still runs that minor, since the cluster never spoke a later one.
//   Who has no data gets it from the others, and goes wherever the cluster has been (`whyNotYet`).

/** Why members cannot go to spec.version, in words for people. */
export function whyNoVersionPath(snapshot: ClusterSnapshot): string | undefined {
  const { version } = snapshot.cluster.spec;
  const why = whyNoPathTo(snapshot, version);
  return why === undefined ? undefined : `${why}; it is ${version}, and the cluster runs ${runningVersion(snapshot)}`;
}

/** Why no member can ever go to this release from what they have their data from. */
export function whyNoPathTo(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  for (const version of versionsInUse(snapshot)) {
    const why = whyNoPath(version, wanted);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** The release of an older minor to which spec.version asks some members to go; `undefined` when it asks nobody, or nobody can. */
export const askedDowngrade = remembered((snapshot): string | undefined => {
  const { version } = snapshot.cluster.spec;
  const isBack = versionsInUse(snapshot).some((each) => isOlderMinor(version, each));
  return isBack && whyNoPathTo(snapshot, version) === undefined ? version : undefined;
});

/** Whether some voter runs this minor release, by its own word: then the cluster as a whole speaks no later one. */
export function isSpoken(snapshot: ClusterSnapshot, wanted: string): boolean {
  return versionsSpoken(snapshot).some((version) => isSameMinor(version, wanted));
}

/**
 * Why the member of this name, which may be a new one, cannot go to this release yet from what it has its data from; `undefined` when it can.
 * What it was given before, and has not told that it runs, is not asked about.
 */
export function whyNotYet(snapshot: ClusterSnapshot, name: string, wanted: string): string | undefined {
  const member = memberNamed(snapshot, name);
  const from = versionOfData(snapshot, name);
  if (member === undefined || from === undefined)
    return whyNotForward(snapshot, wanted) ?? whyNotAnew(snapshot, wanted);
  if (isOlderMinor(from, wanted)) return whyNotForward(snapshot, wanted);
  if (!isOlderMinor(wanted, from) || isSpoken(snapshot, wanted)) return undefined;
  return whyNotConverted(snapshot, member, wanted);
}

/** Whether the spec asks for a newer minor release that nobody runs so far, and the backup of the moment before is not stored. */
export function lacksFirstBackup(snapshot: ClusterSnapshot): boolean {
  const { version } = snapshot.cluster.spec;
  return whyNoPathTo(snapshot, version) === undefined && whyBackupFirst(snapshot, version) !== undefined;
}

function whyBackupFirst(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const isNewer = versionsInUse(snapshot).every((version) => isOlderMinor(version, wanted));
  return isNewer && versionsInUse(snapshot).length > 0 ? whyNotBackedUp(snapshot) : undefined;
}

/** Why nobody can go to a newer minor yet: the backup before is missing, or data of somebody's is in an older format than that of the release that runs, or is being brought there. */
function whyNotForward(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const first = whyBackupFirst(snapshot, wanted);
  if (first !== undefined) return first;
  for (const member of ownVoters(snapshot)) {
    const answer = health(snapshot, member);
    if (answer.is !== "healthy" || !isRelease(answer.status.version)) continue;
    const { version, storageVersion, downgradeTo } = answer.status;
    if (!isOlderMinor(version, wanted)) continue;
    const older = [downgradeTo, storageVersion].find(
      (each) => each !== undefined && isRelease(each) && isOlderMinor(each, version),
    );
    if (older !== undefined) return `the data of ${member.name} is, or is to be, in the format of ${older}`;
  }
  return undefined;
}

/** Why nobody can begin with this release: who has no data gets it from a cluster that speaks a newer one. */
function whyNotAnew(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const newer = versionsInUse(snapshot).find((version) => isOlderMinor(wanted, version));
  return newer === undefined || isSpoken(snapshot, wanted)
    ? undefined
    : `the cluster runs ${newer}, and nobody says that it runs ${minorOf(wanted)}`;
}

/** The release that the member of this name has its data from; `undefined` when it has never run. */
export function versionOfData(snapshot: ClusterSnapshot, name: string): string | undefined {
  const member = memberNamed(snapshot, name);
  return member !== undefined && mayHaveData(snapshot, member) ? versionInUse(snapshot, member) : undefined;
}

/** The releases that voters say of themselves. One that has lost its leader still is what it says. */
const versionsSpoken = remembered((snapshot): readonly string[] =>
  ownVoters(snapshot).flatMap((member) => {
    const answer = health(snapshot, member);
    return "status" in answer && answer.status !== undefined ? [answer.status.version].filter(isRelease) : [];
  }),
);

/** The releases that members have their data from, or are just starting with. Who has never run has none. */
export const versionsInUse = remembered((snapshot): readonly string[] => {
  const versions = knownMembers(snapshot)
    .filter((member) => member.isOurs && mayHaveData(snapshot, member))
    .flatMap((member) => versionInUse(snapshot, member) ?? []);
  return [...new Set(versions)].sort();
});

/** What the member has told, unless it calls itself something that is no release, or something else than the image that it runs. */
function versionInUse(snapshot: ClusterSnapshot, member: KnownMember): string | undefined {
  const { cluster, pods } = snapshot;
  const peer = peerNamed(snapshot, member.name);
  const answer = health(snapshot, member);
  const isAnswer = answer.is === "healthy";
  const told = isAnswer ? answer.status.version : cluster.status?.members?.find(({ id }) => id === member.id)?.version;
  const isItsImage = peer !== undefined && runningRevision(pods.get(member.name)) === revisionOf(peer.spec);
  if (told === undefined || !isRelease(told) || (isAnswer && isItsImage)) return peer?.spec.version;
  return told;
}

/** Whether it has run, or may be about to. */
function mayHaveData(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return member.hasStarted || (snapshot.pods.has(member.name) && !isStuck(snapshot, member));
}
