import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";

/** The role's name in etcd. */
export function roleNameOf({ metadata, spec }: Pick<EtcdRole, "metadata" | "spec">): string {
  return spec.roleName ?? metadata.name;
}

/** The user's name in etcd. */
export function userNameOf({ metadata, spec }: Pick<EtcdUser, "metadata" | "spec">): string {
  return spec.userName ?? metadata.name;
}
