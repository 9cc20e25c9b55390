import { QUARANTINE_LABEL, QUARANTINE_TIME_ANNOTATION } from "#api/names.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** The status fields about quarantined claims; empty when there are none. An unreadable time is skipped. */
export function quarantineStatus({
  claims,
}: Pick<ClusterSnapshot, "claims">): Pick<EtcdClusterStatus, "quarantinedClaims"> {
  const quarantined = claims.filter(({ metadata }) => metadata.labels?.[QUARANTINE_LABEL] !== undefined);
  if (quarantined.length === 0) return {};
  const times = quarantined.map(({ metadata }) => Date.parse(metadata.annotations?.[QUARANTINE_TIME_ANNOTATION] ?? ""));
  const [oldestMs] = times.filter((ms) => !Number.isNaN(ms)).sort((a, b) => a - b);
  const oldest = oldestMs === undefined ? {} : { oldestTime: rfc3339(oldestMs) };
  return { quarantinedClaims: { count: quarantined.length, ...oldest } };
}
