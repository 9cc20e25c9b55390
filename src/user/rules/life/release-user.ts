import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { step } from "#runtime/decide.ts";
import { claimOf, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/**
 * Removes the finalizer of a deleted EtcdUser when its user no longer exists in etcd, was never created, or is deleted
 * with its cluster.
 */
export const releaseUser: UserRule = {
  name: "release-user",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (!isDeleting(claim)) return undefined;
    if (!isHeld(claim)) return { next: "settled" };
    const because = whyLeft(claim) ?? whyOver(snapshot);
    return because === undefined ? undefined : step("release-user", because, { do: "releaseUser" });
  },
};

function whyOver({ found, access }: UserSnapshot): string | undefined {
  return found.is === "absent" && access.is === "present" ? "its user no longer exists in etcd" : undefined;
}
