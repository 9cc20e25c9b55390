import { millisecondsOf } from "#api/duration.ts";
import { wholeOf } from "#api/quantity.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";

/** More than this etcd's authors advise against: https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit */
const MOST_BYTES = 8n * 1024n ** 3n;
/**
 * What of the volume the database may take: beside it there must be room for a second copy while it is defragmented, a third while a
 * snapshot is received, and the WAL.
 */
const SHARE_OF_VOLUME = 4n;

/** The typed options of `spec.etcd` as environment variables; what is not said is left to etcd. */
export function optionVariables({ etcd = {}, storage }: EtcdPeerSpec): Readonly<Record<string, string>> {
  const { autoCompaction, snapshotCount, heartbeatInterval, electionTimeout } = etcd;
  const quota = quotaBytes({ etcd, storage });
  const variables = {
    ETCD_QUOTA_BACKEND_BYTES: quota,
    ETCD_AUTO_COMPACTION_MODE: autoCompaction?.mode.toLowerCase(),
    ETCD_AUTO_COMPACTION_RETENTION: autoCompaction?.retention,
    ETCD_SNAPSHOT_COUNT: snapshotCount,
    ETCD_HEARTBEAT_INTERVAL: inMilliseconds(heartbeatInterval),
    ETCD_ELECTION_TIMEOUT: inMilliseconds(electionTimeout),
  };
  const said = Object.entries(variables).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said.map(([name, value]) => [name, String(value)]));
}

/** `spec.etcd.extraArgs` as etcd's command line has them, in a stable order. */
export function extraArguments({ etcd }: Pick<EtcdPeerSpec, "etcd">): string[] {
  return Object.entries(etcd?.extraArgs ?? {})
    .map(([flag, value]) => `--${flag}=${value}`)
    .sort();
}

/** How large the database may become, in bytes; undefined: etcd's own default. */
export function quotaBytes({ etcd, storage }: Pick<EtcdPeerSpec, "etcd" | "storage">): bigint | undefined {
  const quota = etcd?.quotaBackendBytes;
  if (quota === undefined) return undefined;
  if (quota !== "Auto") return wholeOf(quota);
  const share = (wholeOf(storage.size) ?? 0n) / SHARE_OF_VOLUME;
  return share < MOST_BYTES ? share : MOST_BYTES;
}

/** etcd takes whole ones. */
function inMilliseconds(duration: string | undefined): number | undefined {
  const ms = duration === undefined ? undefined : millisecondsOf(duration);
  return ms === undefined ? undefined : Math.round(ms);
}
