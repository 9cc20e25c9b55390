import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { claimOf } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** An EtcdRole that is being deleted goes when its role is not in etcd any more, was never made there, or went with its cluster. */
export const releaseRole: RoleRule = {
  name: "release-role",
  decide(snapshot) {
    const claim = claimOf(snapshot);
    if (!isDeleting(claim)) return undefined;
    if (!isHeld(claim)) return { next: "settled" };
    const isOver = snapshot.found.is === "absent" && snapshot.access.is === "present";
    const because = whyLeft(claim) ?? (isOver ? "its role is not in etcd any more" : undefined);
    return because === undefined ? undefined : step("release-role", because, { do: "releaseRole" });
  },
};
