import { askedResources } from "#agent-job/pod-template.ts";
import { billionthsOf } from "#api/quantity.ts";
import type { ResourceNeeds } from "#api/v1beta1/backup.ts";
import { memberSpec } from "#backup/desired/member.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";

// Resources of the containers with etcd's image in the pod that verifies.
// Why do they always have requests and limits?
//   A ResourceQuota refuses a pod without them. A LimitRange sets a default limit, which may be too low for etcd.
// Why not the requests of the members?
//   A member may request a whole node. No node would have room for a second such pod.

/** Requests that suffice for a small database. Up to its limits, etcd uses more if the node has it. */
const REQUESTS = { cpu: "200m", memory: "256Mi" };
/** Memory of etcd without data, in bytes. */
const MEMORY_BYTES = 512 * 1024 * 1024;
/** Memory for each byte of the snapshot: etcd's index of many small keys is about three times their size on disk. */
const MEMORY_FACTOR = 4;
/** Limit of memory for a snapshot of unknown size. */
const UNKNOWN_MEMORY = "4Gi";
const STORAGE = "ephemeral-storage";

/**
 * Resources in the backup's pod template; else the limits of a member; else limits that fit the snapshot.
 * @param roomBytes size limit of the pod's emptyDir. It is requested, because otherwise the data fills the node's disk
 */
export function etcdResources(snapshot: BackupSnapshot, roomBytes: number | undefined): ResourceNeeds {
  const { backup, cluster } = snapshot;
  const asked = askedResources(backup.spec.podTemplate?.spec?.etcdResources);
  if (asked !== undefined) return asked;
  const bytes = backup.status?.object?.bytes;
  const memory = bytes === undefined ? UNKNOWN_MEMORY : String(MEMORY_FACTOR * bytes + MEMORY_BYTES);
  const [etcd] = memberSpec(cluster).containers;
  const limits: Record<string, string | number> = { memory, ...limitsOf(etcd?.resources?.limits) };
  const requests = Object.entries(REQUESTS).map(([kind, amount]) => [kind, smaller(amount, limits[kind])]);
  const room = roomBytes === undefined ? {} : { [STORAGE]: String(roomBytes) };
  return { requests: { ...Object.fromEntries(requests), ...room }, limits: { ...limits, ...room } };
}

/** Limits of CPU and memory. Those of devices and huge pages are not copied from a member. */
function limitsOf(limits: Readonly<Record<string, string | number>> = {}): Record<string, string | number> {
  return Object.fromEntries(Object.entries(limits).filter(([kind]) => Object.hasOwn(REQUESTS, kind)));
}

function smaller(amount: string, limit: string | number | undefined): string | number {
  if (limit === undefined) return amount;
  const [requested, most] = [billionthsOf(amount), billionthsOf(limit)];
  return requested !== undefined && most !== undefined && most < requested ? limit : amount;
}
