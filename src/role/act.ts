import type { AccessReads } from "#access/reads.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
import { ETCD_ROLES, type EtcdRole, type EtcdRoleStatus } from "#api/v1beta1/role.ts";
import { invariant } from "#base/invariant.ts";
import type { KubeClient } from "#kube/client.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import type { Written } from "#runtime/controller.ts";
import { patchFinalizers, stored } from "#runtime/writes.ts";

/** What this room writes to. */
export interface RoleWrites {
  readonly kube: Pick<KubeClient, "patch" | "replace">;
  readonly access: Pick<AccessReads, "change">;
}

/** Does one step: exactly one write, with its precondition. */
export async function actOnRole(
  writes: RoleWrites,
  step: RoleStep,
  snapshot: RoleSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  const { role } = snapshot;
  const finalizers = role.metadata.finalizers ?? [];
  switch (step.do) {
    case "holdRole":
      return await patchFinalizers(writes.kube, ETCD_ROLES, role, [...finalizers, ROLE_FINALIZER], signal);
    case "releaseRole":
      await patchFinalizers(
        writes.kube,
        ETCD_ROLES,
        role,
        finalizers.filter((each) => each !== ROLE_FINALIZER),
        signal,
      );
      return { kind: "external" }; // It may be gone with that.
    case "claimRole":
      return await writeStatus(
        writes.kube,
        role,
        { ...role.status, roleName: step.name, clusterID: step.clusterID },
        signal,
      );
    case "addRole":
    case "grantPermission":
    case "revokePermission":
    case "deleteRole":
      await change(writes, step, snapshot, signal);
      return { kind: "external" };
  }
}

/** Writes the status of the object as it was read: whoever changed it since makes this a conflict. */
export async function writeStatus(
  kube: Pick<KubeClient, "replace">,
  role: EtcdRole,
  status: EtcdRoleStatus,
  signal: AbortSignal,
): Promise<Written> {
  return stored(ETCD_ROLES, await kube.replace(ETCD_ROLES, { ...role, status }, { signal, subresource: "status" }));
}

async function change(
  { access }: RoleWrites,
  step: Exclude<RoleStep, { do: "holdRole" | "releaseRole" | "claimRole" }>,
  { cluster }: RoleSnapshot,
  signal: AbortSignal,
): Promise<void> {
  invariant(cluster !== undefined, "a role is only changed in the etcd of a cluster that is there");
  const { name } = step;
  await access.change(cluster, signal, { role: name }, async (etcd, at, options) => {
    switch (step.do) {
      case "addRole":
        return await etcd.roleAdd(at, name, options);
      case "grantPermission":
        return await etcd.roleGrantPermission(at, name, step.permission, options);
      case "revokePermission":
        return await etcd.roleRevokePermission(at, name, step.range, options);
      case "deleteRole":
        return await etcd.roleDelete(at, name, options);
    }
  });
}
