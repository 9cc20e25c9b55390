import { isDeleting } from "#access/claim.ts";
import { hindranceOf } from "#access/place.ts";
import { doneWord, statusWith, type Word, wordOf } from "#access/word.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import type { EtcdRoleStatus } from "#api/v1beta1/role.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import type { Plan } from "#runtime/decide.ts";

/** Computes the status of the EtcdRole. Pure. */
export function roleStatus(snapshot: RoleSnapshot, plan: Plan<RoleStep>): EtcdRoleStatus {
  return statusWith(snapshot.role, readyWord(snapshot, plan), snapshot.takenAtMs);
}

function readyWord(snapshot: RoleSnapshot, plan: Plan<RoleStep>): Word {
  const { role, cluster, access } = snapshot;
  const word = wordOf(plan, {
    "await-cluster": hindranceOf(role.spec.clusterRef.name, cluster)?.reason ?? "Waiting",
    "await-etcd": "EtcdUnreachable",
    "name-taken": "NameTaken",
  });
  if (isDeleting({ object: role })) {
    const message = word?.message ?? "the role is deleted in etcd";
    return { status: "False", reason: "Deleting", message };
  }
  if (word !== undefined) return word;
  return doneWord(access, "Granted", `role ${roleNameOf(role)} has just the permissions of the spec`);
}
