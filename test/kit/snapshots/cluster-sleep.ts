import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster, NOW } from "./cluster.ts";

// Snapshots of clusters (cluster.ts) that people put to sleep and wake up.

/** Options of `cluster()`. */
type Given = NonNullable<Parameters<typeof cluster>[0]>;
type Sleep = EtcdClusterStatus["sleep"];

/** A sleep that began before the pods of these snapshots were made. */
export const SLEEP: NonNullable<Sleep> = { startTime: "2026-01-01T10:30:00Z" };

/** A settled cluster with 0 replicas in its spec, before any step. */
export function tired(given: Given = {}): ClusterSnapshot {
  return cluster({ ...given, spec: { ...given.spec, replicas: 0 } });
}

/** The snapshot with this sleep in its status. */
export function withSleep(snapshot: ClusterSnapshot, sleep: Sleep): ClusterSnapshot {
  const { sleep: _, ...status } = snapshot.cluster.status ?? {};
  const told = sleep === undefined ? status : { ...status, sleep };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: told } };
}

/** A sleeping cluster: no member runs, and the status lists the members. */
export function asleep(given: Given = {}): ClusterSnapshot {
  const { members } = clusterStatus(cluster(given), { next: "settled" });
  const before = tired(given);
  const known = { ...before.cluster, status: { ...before.cluster.status, members, sleep: SLEEP } };
  return {
    ...{ ...before, cluster: known as typeof before.cluster, pods: new Map(), endpoints: new Map() },
    members: { is: "unknown", why: "no member with a leader answers" },
  };
}

/** The snapshot in which so many members are wanted. */
export function wanted(snapshot: ClusterSnapshot, replicas: number): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, replicas } } };
}

/**
 * A cluster that was woken so long ago; by default just now.
 * @param given with `down`: members that are not up yet
 */
export function woken(given: Given = {}, agoMs = 0): ClusterSnapshot {
  return withSleep(cluster(given), { ...SLEEP, wakeTime: new Date(NOW - agoMs).toISOString() });
}
