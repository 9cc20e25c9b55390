import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { type AnyResource, resource } from "#kube/kinds.ts";

export { ETCD_BACKUP_SCHEDULES, ETCD_BACKUPS, ETCD_CLUSTERS, ETCD_PEERS, ETCD_RESTORES, ETCD_USERS };

/** Every kind of the operator. */
export const OWN_KINDS: readonly AnyResource[] = [
  ETCD_CLUSTERS,
  ETCD_PEERS,
  ETCD_BACKUPS,
  ETCD_BACKUP_SCHEDULES,
  ETCD_RESTORES,
  ETCD_USERS,
  ETCD_ROLES,
];

/** Events as the core API serves them: the ClusterRole `view` permits these, and not those of events.k8s.io. */
export const EVENTS = resource({ group: "", version: "v1", kind: "Event", plural: "events", namespaced: true });
export const DEPLOYMENTS = resource({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});
