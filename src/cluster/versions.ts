import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { compareVersions, parseVersion } from "#etcd/version.ts";

// Why does a member not simply run what spec.version says?
//   spec.version is a wish. A member that comes back on another release than its data was written by may refuse it, or may never
//   be able to go back. Only a planned change gives a member another release, one member at a time; until then everybody runs,
//   and whoever is added gets, what the cluster runs.

/** The release that the cluster runs, and that new members get: of several the one that most members have, of equals the oldest. */
export function runningVersion({ cluster, peers }: ClusterSnapshot): string {
  const told = peers.map(({ spec }) => spec.version);
  const seen = (cluster.status?.members ?? []).flatMap(({ version }) => version ?? []).filter(isRelease);
  const versions = told.length > 0 ? told : seen;
  const count = (version: string) => versions.filter((each) => each === version).length;
  return (
    [...versions].sort((a, b) => count(b) - count(a) || older(a, b))[0] ??
    cluster.status?.version ??
    cluster.spec.version
  );
}

/** The release of the member of this name: it keeps what it has. */
export function versionOf(snapshot: ClusterSnapshot, name: string): string {
  const recorded = snapshot.cluster.status?.members?.find((member) => member.name === name)?.version;
  return (
    peerNamed(snapshot, name)?.spec.version ??
    (recorded !== undefined && isRelease(recorded) ? recorded : runningVersion(snapshot))
  );
}

/** A build of somebody's own may call itself anything. */
export function isRelease(version: string): boolean {
  return /^\d+\.\d+\.\d+$/.test(version);
}

function older(a: string, b: string): number {
  return compareVersions(parseVersion(a), parseVersion(b));
}
