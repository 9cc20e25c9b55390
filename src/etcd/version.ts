import { OperatorError } from "#base/error.ts";

/** An etcd release. */
export interface EtcdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** The minor versions that this operator runs, oldest first. */
export const SUPPORTED_MINORS = ["3.5", "3.6", "3.7"] as const;

/** One of the minor versions that this operator runs. */
export type SupportedMinor = (typeof SUPPORTED_MINORS)[number];

/**
 * The oldest patch release of each minor that this operator runs.
 * 3.5.11 brought `/livez` and `/readyz`, on which the probes rest; every release of 3.6 and 3.7 has them.
 * Source: CHANGELOG/CHANGELOG-3.5.md in etcd's repository.
 */
export const MINIMUM_PATCH: Readonly<Record<SupportedMinor, number>> = { "3.5": 11, "3.6": 0, "3.7": 0 };

/**
 * The release of 3.5 from which 3.6 may be reached. Since 3.6 the member list is read from another store than before;
 * 3.5.26 is the first that brings both stores in line, without it removed members can come back to life.
 * Source: https://etcd.io/blog/2025/zombie_members_upgrade/
 */
export const LEAVE_3_5_FROM: EtcdVersion = { major: 3, minor: 5, patch: 26 };

/**
 * Reads a version such as "3.6.16": three numbers without leading zeros, no leading v, no build suffix.
 * @throws OperatorError InvalidSpec when the text is anything else
 */
export function parseVersion(text: string): EtcdVersion {
  const found = /^(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})\.(0|[1-9]\d{0,4})$/.exec(text);
  if (found === null) {
    throw new OperatorError(
      "InvalidSpec",
      `version is ${JSON.stringify(text)}; it must be three numbers such as "3.6.16"`,
    );
  }
  return { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]) };
}

/** What `parseVersion` reads. */
export function formatVersion(version: EtcdVersion): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}

/** Below 0 when `a` is older than `b`, 0 when they are the same release, above 0 when `a` is newer. */
export function compareVersions(a: EtcdVersion, b: EtcdVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** The minor version, if this operator runs it. */
export function supportedMinorOf(version: EtcdVersion): SupportedMinor | undefined {
  return SUPPORTED_MINORS.find((minor) => minor === `${version.major}.${version.minor}`);
}

/** Why this operator cannot run the release, as one clause for people; undefined when it can. */
export function whyUnsupported(version: EtcdVersion): string | undefined {
  const minor = supportedMinorOf(version);
  if (minor === undefined) return `etcd ${formatVersion(version)} is not one of ${SUPPORTED_MINORS.join(", ")}`;
  if (version.patch < MINIMUM_PATCH[minor]) {
    return `etcd ${formatVersion(version)} is older than ${minor}.${MINIMUM_PATCH[minor]}`;
  }
  return undefined;
}

/**
 * Why a running cluster cannot go from one release to the other by replacing its members one by one, as one clause for
 * people; undefined when it can. Back within a minor is allowed; back over a minor needs etcd's own downgrade first.
 * Source: https://etcd.io/docs/v3.6/upgrades/
 */
export function whyNoPath(from: EtcdVersion, to: EtcdVersion): string | undefined {
  const path = `from ${formatVersion(from)} to ${formatVersion(to)}`;
  if (to.major !== from.major) return `${path} changes the major version`;
  if (to.minor < from.minor) return `${path} is a downgrade over a minor version`;
  if (to.minor > from.minor + 1) return `${path} skips a minor version`;
  const leaves35 = from.major === 3 && from.minor === 5 && to.minor === 6;
  if (leaves35 && compareVersions(from, LEAVE_3_5_FROM) < 0) {
    return `${path} needs ${formatVersion(LEAVE_3_5_FROM)} or newer first`;
  }
  return undefined;
}
