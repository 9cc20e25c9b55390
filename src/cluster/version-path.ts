import { revisionOf } from "#api/revision.ts";
import { health, type KnownMember, knownMembers, ownVoters } from "#cluster/members.ts";
import { type ClusterSnapshot, peerNamed, remembered } from "#cluster/snapshot.ts";
import { isStuck } from "#cluster/standstill.ts";
import { runningRevision, runningVersion } from "#cluster/versions.ts";
import { isRelease, isSameMinor, whyNoPath } from "#etcd/version.ts";

/** Why members cannot go to spec.version, in words for people. */
export function whyNoVersionPath(snapshot: ClusterSnapshot): string | undefined {
  const { version } = snapshot.cluster.spec;
  const why = whyNoPathTo(snapshot, version);
  return why === undefined ? undefined : `${why}; it is ${version}, and the cluster runs ${runningVersion(snapshot)}`;
}

/**
 * Why members cannot go to this release from what they have their data from. Within a minor everything is allowed; forward to the next
 * one; and back as long as some member still runs the old one: until then the cluster as a whole speaks it.
 * Source: https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/
 */
export function whyNoPathTo(snapshot: ClusterSnapshot, wanted: string): string | undefined {
  const isStillSpoken = versionsSpoken(snapshot).some((version) => isSameMinor(version, wanted));
  for (const version of versionsInUse(snapshot)) {
    const why = whyNoPath(version, wanted);
    if (why !== undefined && !(isStillSpoken && whyNoPath(wanted, version) === undefined)) return why;
  }
  return undefined;
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
    .filter((member) => member.isOurs && (member.hasStarted || mayBeStarting(snapshot, member)))
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

function mayBeStarting(snapshot: ClusterSnapshot, member: KnownMember): boolean {
  return snapshot.pods.has(member.name) && !isStuck(snapshot, member);
}
