import { health, type KnownMember, ownVoters } from "#cluster/members.ts";
import { type ClusterSnapshot, remembered } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isRelease, isSameMinor } from "#etcd/version.ts";

// How does a cluster go back to the minor release before?
//   etcd itself is asked to: it then speaks the older minor, and every member brings its data into that one's format, within seconds. From
//   then on members restart with the older release, one by one as for every other update. When all of them run it, etcd ends the downgrade.
// What if a member has to join meanwhile?
//   etcd lets nobody join while a downgrade is enabled. It is cancelled, and asked for again when the cluster is whole; members that run the
//   older release by then stay, and as long as one of them does the others may follow it without being asked for again.

/** A downgrade that is enabled, by the word of a member. */
interface Downgrade {
  /** The minor that it leads to, as etcd writes it: "3.5.0". */
  readonly to: string;
  /** Who says so: members of the release before etcd 3.6 do not, and answer no question about it. */
  readonly by: KnownMember;
}

/** The downgrade that etcd says is enabled; `undefined` when nobody who answers says so. */
export const enabledDowngrade = remembered((snapshot): Downgrade | undefined => {
  for (const by of ownVoters(snapshot)) {
    const to = wellStatus(snapshot, by)?.downgradeTo;
    if (to !== undefined && isRelease(to)) return { to, by };
  }
  return undefined;
});

/** Why this member's data cannot be read by the older minor yet, as it says itself; `undefined` when it can. */
export function whyNotConverted(snapshot: ClusterSnapshot, member: KnownMember, version: string): string | undefined {
  const status = wellStatus(snapshot, member);
  if (status === undefined) return `${member.name} does not say in which format its data is`;
  const { downgradeTo, storageVersion } = status;
  if (downgradeTo === undefined || !isOfMinor(downgradeTo, version))
    return `${member.name} does not say that a downgrade to its minor is enabled`;
  if (storageVersion !== undefined && isOfMinor(storageVersion, version)) return undefined;
  return `${member.name} has its data in the format of ${storageVersion ?? "a release that it does not name"}`;
}

function isOfMinor(text: string, version: string): boolean {
  return isRelease(text) && isSameMinor(text, version);
}

function wellStatus(snapshot: ClusterSnapshot, member: KnownMember): EndpointStatus | undefined {
  const seen = health(snapshot, member);
  return seen.is === "healthy" ? seen.status : undefined;
}
