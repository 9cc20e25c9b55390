// On which data can a release of etcd run?
//
// A release older than the cluster version exits ("invalid downgrade", server/etcdserver/version/downgrade.go), and
// cannot join ("incompatible", isCompatibleWithCluster in cluster_util.go). Skipping a minor is forbidden, but etcd's
// code does not refuse it: https://etcd.io/docs/v3.6/upgrades/. Here the process exits, as the worst possible outcome.

/** The release of an image such as `example.test/etcd:v3.6.16`. */
export function versionOf(image: string | undefined): string {
  return /:v(\d+\.\d+\.\d+)$/.exec(image ?? "")?.[1] ?? "3.6.16";
}

/** 6 for 3.6.16. */
export function minorOf(version: string): number {
  return Number(version.split(".")[1]);
}

/**
 * Whether etcd's own downgrade leads from this cluster version to the release. The path leads down by one minor, never
 * from 3.5, and not to a 3.5 that is too old.
 */
export function isDowngrade(version: string, clusterMinor: number | undefined): boolean {
  if (clusterMinor === undefined || clusterMinor < 6 || minorOf(version) !== clusterMinor - 1) return false;
  return !mustBeNewerFirst(version, `3.${clusterMinor}.0`);
}

/** Whether an upgrade must first go to 3.5.26: https://etcd.io/blog/2025/zombie_members_upgrade/ */
export function mustBeNewerFirst(from: string, to: string): boolean {
  return minorOf(from) === 5 && minorOf(to) === 6 && Number(from.split(".")[2]) < 26;
}

const INVALID_DOWNGRADE = "invalid downgrade; server version is lower than determined cluster version";

/**
 * Why a member of this release cannot run, in etcd's words.
 * @param clusterMinor the cluster version; undefined before it is decided
 * @param storageMinor the storage version of the member's data; undefined if no etcd has written one
 */
export function whyNotThisVersion(
  version: string,
  clusterMinor: number | undefined,
  storageMinor?: number,
): string | undefined {
  const minor = minorOf(version);
  const isOlder = clusterMinor !== undefined && minor < clusterMinor;
  // etcd 3.5 does not check the storage version, and could not read newer data: schema.Validate in
  // server/storage/schema/schema.go.
  if (isOlder && minor < 6) return INVALID_DOWNGRADE;
  if (storageMinor !== undefined && minor < storageMinor) return `version "3.${storageMinor}.0" is not supported`;
  if (clusterMinor === undefined) return undefined;
  if (isOlder) return INVALID_DOWNGRADE;
  return minor > clusterMinor + 1 ? `version ${version} skips a minor after 3.${clusterMinor}` : undefined;
}
