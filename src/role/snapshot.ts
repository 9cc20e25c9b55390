import type { Claim } from "#access/claim.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import { ROLE_FINALIZER } from "#api/names.ts";
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

/** What the EtcdRole and the role in etcd have to do with each other. */
export function claimOf({ role, cluster, elder, found }: RoleSnapshot): Claim {
  return { kind: "EtcdRole", object: role, name: roleNameOf(role), finalizer: ROLE_FINALIZER, cluster, elder, found };
}
