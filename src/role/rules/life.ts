import { isDeleting, isHeld, whyLeft } from "#access/claim.ts";
import { awaitingCluster } from "#access/waits.ts";
import { roleNameOf } from "#api/etcd-names.ts";
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
    return because === undefined ? undefined : step(because, { do: "releaseRole" });
  },
};

/** Waits while the EtcdCluster does not exist, has not formed, sleeps, is paused or is being deleted. */
export const awaitCluster: RoleRule = {
  name: "await-cluster",
  decide: (snapshot) => awaitingCluster(claimOf(snapshot)),
};

/** Deletes the role in etcd when its EtcdRole is being deleted. Its users lose it. */
export const deleteRole: RoleRule = {
  name: "delete-role",
  decide(snapshot) {
    if (!isDeleting({ object: snapshot.role })) return undefined;
    const name = roleNameOf(snapshot.role);
    return step(`role ${name} is deleted in etcd with its EtcdRole`, { do: "deleteRole", name });
  },
};

/** Adds a finalizer before anything is created in etcd, so that the role is deleted there first. */
export const holdRole: RoleRule = {
  name: "hold-role",
  decide(snapshot) {
    if (isHeld(claimOf(snapshot))) return undefined;
    return step("its role in etcd is deleted before it", { do: "holdRole" });
  },
};
