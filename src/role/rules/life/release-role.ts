import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/**
 * Removes the finalizer of a deleted EtcdRole when its role no longer exists in etcd, was never created, or is deleted
 * with its cluster.
 */
export const releaseRole: RoleRule = {
  name: "release-role",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (!isDeleting(claim)) return undefined;
    if (!isHeld(claim)) return { next: "settled" };
    const isOver = snapshot.found.is === "absent" && snapshot.access.is === "present";
    const because = whyLeft(claim) ?? (isOver ? "its role no longer exists in etcd" : undefined);
    return because === undefined ? undefined : step("release-role", because, { do: "releaseRole" });
  },
};
