import { GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import { LABELS, type Manifest } from "./own.ts";

// What do Kubernetes' own ClusterRoles view, edit and admin get?
//   view reads all kinds of the operator. No kind contains a secret. edit and admin also write them, except EtcdPeers,
//   which only the operator writes.
// Why may edit write EtcdUsers and EtcdRoles?
//   It may read every Secret of the namespace anyway, and so use root's password.

const RBAC = "rbac.authorization.k8s.io";
const WRITTEN_BY_PEOPLE = [
  ETCD_CLUSTERS,
  ETCD_BACKUPS,
  ETCD_BACKUP_SCHEDULES,
  ETCD_RESTORES,
  ETCD_USERS,
  ETCD_ROLES,
].map(({ plural }) => plural);
const SCALE = `${ETCD_CLUSTERS.plural}/scale`;

/** ClusterRoles that Kubernetes adds to its own roles: edit contains view, and admin contains edit. */
export function peopleRoles(): Manifest[] {
  return [
    aggregated("view", [
      {
        apiGroups: [GROUP],
        resources: [...WRITTEN_BY_PEOPLE, ETCD_PEERS.plural, SCALE],
        verbs: ["get", "list", "watch"],
      },
    ]),
    aggregated("edit", [
      {
        apiGroups: [GROUP],
        resources: WRITTEN_BY_PEOPLE,
        verbs: ["create", "update", "patch", "delete", "deletecollection"],
      },
      { apiGroups: [GROUP], resources: [SCALE], verbs: ["update", "patch"] },
    ]),
  ];
}

function aggregated(role: "view" | "edit", rules: readonly object[]): Manifest {
  const labels = { ...LABELS, [`${RBAC}/aggregate-to-${role}`]: "true" };
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: `${OPERATOR}-${role}`, labels } as Manifest["metadata"],
    rules,
  };
}
