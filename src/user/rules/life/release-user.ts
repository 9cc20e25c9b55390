import { userNameOf } from "#access/namesakes.ts";
import { isGone } from "#access/place.ts";
import { USER_FINALIZER } from "#api/names.ts";
import { step } from "#runtime/decide.ts";
import { isClaimed, isDeleting, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** An EtcdUser that is being deleted goes when its user is not in etcd any more, was never made, or went with its cluster. */
export const releaseUser: UserRule = {
  name: "release-user",
  decide(snapshot) {
    if (!isDeleting(snapshot)) return undefined;
    if (snapshot.user.metadata.finalizers?.includes(USER_FINALIZER) !== true) return { next: "settled" };
    const because = whyReleased(snapshot);
    return because === undefined ? undefined : step("release-user", because, { do: "releaseUser" });
  },
};

function whyReleased(snapshot: UserSnapshot): string | undefined {
  const { cluster, elder, found } = snapshot;
  if (isGone(cluster)) return "its EtcdCluster is gone, or about to be";
  if (!isClaimed(snapshot)) return "it has made no user";
  if (elder !== undefined) return `the user is EtcdUser ${elder}'s`;
  // Who became the operator's own later is not this object's to delete.
  if (userNameOf(snapshot.user) === snapshot.operatorName) return "the user is the operator's own";
  return found.is === "absent" && snapshot.access.is === "present" ? "its user is not in etcd any more" : undefined;
}
