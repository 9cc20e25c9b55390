import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { step } from "#runtime/decide.ts";
import { claimOf, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** An EtcdUser that is being deleted goes when its user is not in etcd any more, was never made there, or went with its cluster. */
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
  return found.is === "absent" && access.is === "present" ? "its user is not in etcd any more" : undefined;
}
