import { OperatorError } from "#base/error.ts";

// Why not semver?
//   It accepts pre-releases and builds, which spec.version refuses, and limits the size of numbers.

/** An etcd release. */
interface EtcdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/**
 * Three numbers without leading zeros, no leading v, no build suffix. Numbers may have any length, as in spec.version.
 */
const RELEASE = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Whether the text is a valid release version. A custom build of etcd may report any text. */
export function isRelease(text: string): boolean {
  return RELEASE.test(text);
}

/**
 * Parses a version such as "3.6.16".
 * @throws OperatorError InvalidSpec when the text is no release
 */
export function parseVersion(text: string): EtcdVersion {
  const found = RELEASE.exec(text);
  if (found === null) {
    throw new OperatorError(
      "InvalidSpec",
      `version is ${JSON.stringify(text)}; it must be three numbers such as "3.6.16"`,
    );
  }
  return { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]) };
}

/** Below 0 when `a` is older than `b`, 0 when they are the same release, above 0 when `a` is newer. */
export function compareVersions(a: EtcdVersion, b: EtcdVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/**
 * The oldest release of 3.5 that may be upgraded to 3.6, which reads the member list from another store than 3.5.
 * 3.5.26 is the first release that synchronizes both stores; with an older one, removed members can reappear.
 * Source: https://etcd.io/blog/2025/zombie_members_upgrade/
 */
const LEAVE_3_5_FROM = "3.5.26";

/** The first minor version of 3.x that can be downgraded: https://etcd.io/docs/v3.6/downgrades/downgrading-etcd/ */
const GOES_BACK_FROM_MINOR = 6;

/**
 * Clause that explains why a member cannot change from one release to the other with its data. Undefined when it can,
 * if necessary with etcd's downgrade (https://etcd.io/docs/v3.6/upgrades/). Both must be releases.
 */
export function whyNoPath(from: string, to: string): string | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)];
  const path = `from ${from} to ${to}`;
  if (b.major !== a.major) return `${path} changes the major version`;
  if (b.minor < a.minor && a.minor < GOES_BACK_FROM_MINOR)
    return `${path} is a downgrade by a minor version, which etcd ${minorOf(from)} does not support`;
  if (b.minor < a.minor - 1)
    return `${path} is a downgrade by more than one minor version; go to ${a.major}.${a.minor - 1} first`;
  if (b.minor > a.minor + 1) return `${path} skips ${a.major}.${a.minor + 1}`;
  const [lower, higher] = b.minor < a.minor ? [b, a] : [a, b];
  const leaves35 = lower.major === 3 && lower.minor === 5 && higher.minor === 6;
  const isTooEarly = leaves35 && compareVersions(lower, parseVersion(LEAVE_3_5_FROM)) < 0;
  if (!isTooEarly) return undefined;
  return `${path} needs ${LEAVE_3_5_FROM} or a later 3.5${lower === a ? " first" : ""}`;
}

/** Whether the first release has an older minor version than the second. Both must be releases. */
export function isOlderMinor(a: string, b: string): boolean {
  return compareVersions({ ...parseVersion(a), patch: 0 }, { ...parseVersion(b), patch: 0 }) < 0;
}

/** The minor version of a release, such as 3.6 for 3.6.16: the format of etcd's downgrade target. */
export function minorOf(version: string): string {
  const { major, minor } = parseVersion(version);
  return `${major}.${minor}`;
}

/** Whether both releases have the same minor version, such as 3.6.1 and 3.6.16. */
export function isSameMinor(a: string, b: string): boolean {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  return left.major === right.major && left.minor === right.minor;
}
