import type { AccessReads } from "#access/reads.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { invariant } from "#base/invariant.ts";
import type { KubeClient } from "#kube/client.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import type { Written } from "#runtime/controller.ts";
import { writeStatus } from "#runtime/status-writer.ts";
import { patchFinalizers } from "#runtime/writes.ts";

/** What this controller writes with. */
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
      return { kind: "external" }; // The object may be deleted with its last finalizer.
    case "claimRole":
      return await writeStatus(
        writes.kube,
        ETCD_ROLES,
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

async function change(
  { access }: RoleWrites,
  step: Exclude<RoleStep, { do: "holdRole" | "releaseRole" | "claimRole" }>,
  { cluster }: RoleSnapshot,
  signal: AbortSignal,
): Promise<void> {
  invariant(cluster !== undefined, "a role is changed in etcd only when its EtcdCluster exists");
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
