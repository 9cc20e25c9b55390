import { roleNameOf } from "#access/namesakes.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { Observed } from "#base/observed.ts";
import type { Permission } from "#etcd/auth.ts";

/** All that one decision about an EtcdRole may use. Built by observe.ts, read-only ever after. */
export interface RoleSnapshot {
  /** Milliseconds since 1970: the only "now" that a rule knows. */
  readonly takenAtMs: number;
  readonly role: EtcdRole;
  readonly cluster: EtcdCluster | undefined;
  /** The EtcdRole that has the name in etcd, when it is another one. */
  readonly elder: string | undefined;
  /** Whether users must log in; `absent` when the EtcdCluster says by itself that nobody is to be asked. */
  readonly access: Observed<{ readonly enabled: boolean }>;
  /** The permissions of the role, as etcd has them; `absent` when there is no such role. */
  readonly found: Observed<readonly Permission[]>;
}

/** Whether the role in etcd is this object's, by its own record. */
export function isClaimed({ role }: Pick<RoleSnapshot, "role">): boolean {
  return role.status?.roleName === roleNameOf(role);
}

export function isDeleting({ role }: Pick<RoleSnapshot, "role">): boolean {
  return role.metadata.deletionTimestamp !== undefined;
}
