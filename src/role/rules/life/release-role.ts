import { isGone } from "#access/place.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
import { isClaimed, isDeleting, type RoleSnapshot } from "#role/snapshot.ts";
import type { RoleRule } from "#role/step.ts";
import { step } from "#runtime/decide.ts";

/** An EtcdRole that is being deleted goes when its role is not in etcd any more, was never made, or went with its cluster. */
export const releaseRole: RoleRule = {
  name: "release-role",
  decide(snapshot) {
    if (!isDeleting(snapshot)) return undefined;
    if (snapshot.role.metadata.finalizers?.includes(ROLE_FINALIZER) !== true) return { next: "settled" };
    const because = whyReleased(snapshot);
    return because === undefined ? undefined : step("release-role", because, { do: "releaseRole" });
  },
};

function whyReleased(snapshot: RoleSnapshot): string | undefined {
  const { cluster, elder, found } = snapshot;
  if (isGone(cluster)) return "its EtcdCluster is gone, or about to be";
  if (!isClaimed(snapshot)) return "it has made no role";
  if (elder !== undefined) return `the role is EtcdRole ${elder}'s`;
  return found.is === "absent" && snapshot.access.is === "present" ? "its role is not in etcd any more" : undefined;
}
