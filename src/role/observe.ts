import { ETCD_INDEX } from "#access/calls.ts";
import { absenceFor } from "#access/claim.ts";
import { elderOf } from "#access/namesakes.ts";
import { hindranceOf, isGone } from "#access/place.ts";
import type { AccessReads } from "#access/reads.ts";
import { roleNameOf } from "#api/etcd-names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdRole } from "#api/v1beta1/role.ts";
import type { Clock } from "#base/clock.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { CacheView, Key } from "#runtime/controller.ts";

export interface RoleReads {
  readonly roles: CacheView<EtcdRole>;
  readonly clusters: Pick<CacheView<EtcdCluster>, "get">;
  readonly access: Pick<AccessReads, "look" | "role">;
  readonly clock: Clock;
}

/** Builds the snapshot for one decision. Most answers of etcd come from a cache. */
export async function observeRole(reads: RoleReads, key: Key, signal: AbortSignal): Promise<Observed<RoleSnapshot>> {
  const role = reads.roles.get(key);
  if (role === undefined) return absent;
  const { namespace } = key;
  const clusterName = role.spec.clusterRef.name;
  const cluster = reads.clusters.get({ namespace, name: clusterName });
  const elder = elderOf(role, reads.roles.byIndex(ETCD_INDEX, `${namespace}/${clusterName}`), roleNameOf);
  const base = { takenAtMs: reads.clock.wallMs(), role, cluster, elder };
  if (cluster === undefined || isGone(cluster) || hindranceOf(clusterName, cluster) !== undefined)
    return present({ ...base, access: absent, found: absent });
  const access = await reads.access.look(cluster, signal);
  if (access.is !== "present") return present({ ...base, access, found: access });
  const name = roleNameOf(role);
  const found = await reads.access.role(cluster, name, signal, absenceFor({ object: role, name, cluster }));
  return present({ ...base, access, found });
}
