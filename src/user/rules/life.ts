import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { awaitingCluster } from "#access/waits.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { step, wait } from "#runtime/decide.ts";
import { claimOf, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

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
    return because === undefined ? undefined : step(because, { do: "releaseUser" });
  },
};

function whyOver({ found, access }: UserSnapshot): string | undefined {
  return found.is === "absent" && access.is === "present" ? "its user no longer exists in etcd" : undefined;
}

/** Waits while the EtcdCluster does not exist, has not formed, sleeps, is paused or is being deleted. */
export const awaitCluster: UserRule = {
  name: "await-cluster",
  decide: (snapshot) => awaitingCluster(claimOf(snapshot)),
};

/** Deletes the user in etcd when its EtcdUser is being deleted. Its password and certificates become invalid. */
export const deleteUser: UserRule = {
  name: "delete-user",
  decide(snapshot) {
    if (!isDeleting({ object: snapshot.user })) return undefined;
    const name = userNameOf(snapshot.user);
    return step(`user ${name} is deleted in etcd with its EtcdUser`, { do: "deleteUser", name });
  },
};

/** Recheck in milliseconds, for a change of the EtcdCluster: an edit of the EtcdUser triggers this controller. */
const REFUSE_USER_RECHECK_MS = 60_000;

/** Refuses a spec that cannot be applied. Everything stays as it is. */
export const refuseUser: UserRule = {
  name: "refuse-user",
  decide(snapshot) {
    const because = refusalOf(snapshot);
    return because === undefined ? undefined : wait(because, REFUSE_USER_RECHECK_MS, { warn: true });
  },
};

/** Adds a finalizer before anything is created in etcd, so that the user is deleted there first. */
export const holdUser: UserRule = {
  name: "hold-user",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("its user in etcd is deleted before it", { do: "holdUser" });
  },
};
