import { type KnownMember, ownVoters } from "#cluster/members/members.ts";
import { remembered } from "#cluster/snapshot.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { isRelease, isSameMinor } from "#etcd/version.ts";

// How a cluster returns to the previous minor release:
// - The operator enables etcd's own downgrade. The cluster then speaks the older minor, and every member converts its
//   data to that format within seconds.
// - Members then restart with the older release, one at a time as in every update. When all of them run it, etcd ends
//   the downgrade.
// - etcd lets no member join while a downgrade is enabled. If one has to join, the downgrade is cancelled and enabled
//   again later. Members that already run the older release stay, and while one does, the others may follow it without
//   a new downgrade.

/** A downgrade that a member reports as enabled. */
interface Downgrade {
  /** The minor that it leads to, as etcd writes it: "3.5.0". */
  readonly to: string;
  /** The member that reports it: only etcd 3.6 and later do, and answer requests about it. */
  readonly by: KnownMember;
}

/** The enabled downgrade; `undefined` when no answering voter reports one. */
export const enabledDowngrade = remembered((snapshot): Downgrade | undefined => {
  for (const by of ownVoters(snapshot)) {
    const to = wellStatus(by)?.downgradeTo;
    if (to !== undefined && isRelease(to)) return { to, by };
  }
  return undefined;
});

/** Why the older minor cannot read this member's data yet, as the member reports it; `undefined` when it can. */
export function whyNotConverted(member: KnownMember, version: string): string | undefined {
  const status = wellStatus(member);
  if (status === undefined) return `${member.name} does not report the format of its data`;
  const { downgradeTo, storageVersion } = status;
  if (downgradeTo === undefined || !isOfMinor(downgradeTo, version))
    return `${member.name} does not report that a downgrade to this minor is enabled`;
  if (storageVersion !== undefined && isOfMinor(storageVersion, version)) return undefined;
  return `${member.name} has its data in the format of ${storageVersion ?? "an unreported release"}`;
}

function isOfMinor(text: string, version: string): boolean {
  return isRelease(text) && isSameMinor(text, version);
}

function wellStatus({ health }: KnownMember): EndpointStatus | undefined {
  return health.is === "healthy" ? health.status : undefined;
}
