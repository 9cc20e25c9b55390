import { millisecondsOf } from "#api/duration.ts";
import { wholeOf } from "#api/quantity.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";

// How large may a database become?
//   A full volume crashes etcd, and because all members hold the same data, all of them at about the same time. The
//   quota must be reached
//   first: then etcd refuses writes but still serves reads, and can be repaired. The repair needs space for a second
//   copy of the database,
//   which a defragmentation writes.
// Which size counts?
//   The claim's capacity once it is bound: a class may provide less than was requested, and an existing claim may be
//   smaller or expanded.
//   It is used only when the member next starts: a change of the capacity restarts no member.

/**
 * Largest quota with Auto, in bytes. The etcd documentation advises against more:
 * https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit
 */
const MOST_BYTES = 8n * 1024n ** 3n;
/**
 * Divisor of the volume's size for the quota with Auto. The rest is for a second copy during a defragmentation, a third
 * while a snapshot is received, and the WAL.
 */
const SHARE_OF_VOLUME = 4n;
/** Default of etcd's `--quota-backend-bytes`: 2 GiB (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota). */
export const DEFAULT_QUOTA = 2n * 1024n ** 3n;
/**
 * Size of the WAL in bytes: five files of 64 MiB, one preallocated, and as much again for entries since the last raft
 * snapshot. Smaller, and a volume of 1 GiB fills up; larger, and small volumes hold little data.
 */
const WAL_BYTES = 512n * 1024n ** 2n;
/** Copies of the database on the volume: itself, and the one that a defragmentation writes. */
const COPIES = 2n;

/**
 * The typed options of `spec.etcd` as environment variables; unset options keep etcd's defaults.
 * @param capacity of the member's claim, as Kubernetes writes it; undefined until it is bound
 */
export function optionVariables(
  { etcd = {}, storage }: EtcdPeerSpec,
  capacity: string | undefined,
): Readonly<Record<string, string>> {
  const { autoCompaction, snapshotCount, heartbeatInterval, electionTimeout } = etcd;
  const quota = quotaBytes({ etcd, storage }, capacity);
  const variables = {
    ETCD_QUOTA_BACKEND_BYTES: quota,
    ...compactionVariables(autoCompaction),
    ETCD_SNAPSHOT_COUNT: snapshotCount,
    ETCD_HEARTBEAT_INTERVAL: inMilliseconds(heartbeatInterval),
    ETCD_ELECTION_TIMEOUT: inMilliseconds(electionTimeout),
  };
  const defined = Object.entries(variables).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined.map(([name, value]) => [name, String(value)]));
}

/** Mode None sets no variable: without one etcd compacts nothing. */
function compactionVariables(compaction: NonNullable<EtcdPeerSpec["etcd"]>["autoCompaction"]) {
  if (compaction === undefined || compaction.mode === "None") return {};
  return {
    ETCD_AUTO_COMPACTION_MODE: compaction.mode.toLowerCase(),
    ETCD_AUTO_COMPACTION_RETENTION: compaction.period ?? compaction.revisions,
  };
}

/** `spec.etcd.extraArgs` as command-line arguments, sorted. */
export function extraArguments({ etcd }: Pick<EtcdPeerSpec, "etcd">): string[] {
  return Object.entries(etcd?.extraArgs ?? {})
    .map(([flag, value]) => `--${flag}=${value}`)
    .sort();
}

/**
 * The database quota in bytes; undefined: etcd's own default, DEFAULT_QUOTA.
 * @param capacity of the member's claim, as Kubernetes writes it; undefined until it is bound
 */
export function quotaBytes(
  { etcd, storage }: Pick<EtcdPeerSpec, "etcd" | "storage">,
  capacity?: string,
): bigint | undefined {
  const quota = etcd?.backendQuota;
  const size = wholeOf(storage.size) ?? 0n;
  const volume = (capacity === undefined ? undefined : wholeOf(capacity)) ?? size;
  // A local volume may be far larger than requested, and the memory of members was chosen for the requested size.
  if (quota?.mode === "Auto") return smaller(smaller(volume, size) / SHARE_OF_VOLUME, MOST_BYTES);
  if (quota?.size !== undefined) return wholeOf(quota.size);
  return roomOn(volume) < DEFAULT_QUOTA ? roomOn(volume) : undefined;
}

/** The largest database on a volume that can still be defragmented when it is full; both in bytes. */
export function roomOn(volume: bigint): bigint {
  const share = volume / SHARE_OF_VOLUME;
  const rest = (volume - WAL_BYTES) / COPIES;
  return rest > share ? rest : share; // On a volume below 1 GiB the WAL would leave almost nothing.
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** Whole milliseconds, as etcd requires. */
function inMilliseconds(duration: string | undefined): number | undefined {
  const ms = duration === undefined ? undefined : millisecondsOf(duration);
  return ms === undefined ? undefined : Math.round(ms);
}
