import type { Claim } from "#access/claim.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { Observed } from "#base/observed.ts";
import type { Permission } from "#etcd/auth.ts";

/**
 * Everything that the rules and guards may use for one decision about an EtcdRole. Built by observe.ts, then read-only.
 */
export interface RoleSnapshot {
  /** Time of the snapshot in milliseconds since 1970; rules and guards use no other clock. */
  readonly takenAtMs: number;
  readonly role: EtcdRole;
  readonly cluster: EtcdCluster | undefined;
  /** The older EtcdRole with the same name in etcd, if there is one. */
  readonly elder: string | undefined;
  /** Whether auth is enabled; `absent` when the EtcdCluster's state already rules out asking etcd. */
  readonly access: Observed<{ readonly enabled: boolean }>;
  /** The permissions of the role in etcd; `absent` when the role does not exist. */
  readonly found: Observed<readonly Permission[]>;
}

/** The relation between the EtcdRole and the role in etcd. */
export function claimOf({ role, cluster, elder, found }: RoleSnapshot): Claim {
  return { kind: "EtcdRole", object: role, name: roleNameOf(role), finalizer: ROLE_FINALIZER, cluster, elder, found };
}
