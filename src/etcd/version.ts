import { OperatorError } from "#base/error.ts";

/** An etcd release. */
interface EtcdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Three numbers without leading zeros, no leading v, no build suffix. They may be of any length, as they may in spec.version. */
const RELEASE = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Whether the text is a version that can be read. A build of somebody's own may call itself anything. */
export function isRelease(text: string): boolean {
  return RELEASE.test(text);
}

/**
 * Reads a version such as "3.6.16".
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
 * The release of 3.5 from which 3.6 may be reached. Since 3.6 the member list is read from another store than before;
 * 3.5.26 is the first that brings both stores in line, without it removed members can come back to life.
 * Source: https://etcd.io/blog/2025/zombie_members_upgrade/
 */
const LEAVE_3_5_FROM = "3.5.26";

/** The first minor release that can go back: https://etcd.io/docs/v3.6/downgrades/downgrading-etcd/ */
const GOES_BACK_FROM_MINOR = 6;

/**
 * Why a member cannot go from one release to the other with its data, as one clause for people; `undefined` when it can, if need be by
 * etcd's own downgrade. Both must be releases. Source: https://etcd.io/docs/v3.6/upgrades/
 */
export function whyNoPath(from: string, to: string): string | undefined {
  const [a, b] = [parseVersion(from), parseVersion(to)];
  const path = `from ${from} to ${to}`;
  if (b.major !== a.major) return `${path} changes the major version`;
  if (b.minor < a.minor && a.minor < GOES_BACK_FROM_MINOR)
    return `${path} goes back by a minor version, which etcd ${minorOf(from)} cannot`;
  if (b.minor < a.minor - 1)
    return `${path} goes back by more than one minor version; go to ${a.major}.${a.minor - 1} first`;
  if (b.minor > a.minor + 1) return `${path} skips ${a.major}.${a.minor + 1}`;
  const [lower, higher] = b.minor < a.minor ? [b, a] : [a, b];
  const leaves35 = lower.major === 3 && lower.minor === 5 && higher.minor === 6;
  const isTooEarly = leaves35 && compareVersions(lower, parseVersion(LEAVE_3_5_FROM)) < 0;
  if (!isTooEarly) return undefined;
  return `${path} needs ${LEAVE_3_5_FROM} or a later 3.5${lower === a ? " first" : ""}`;
}

/** Whether the first is of an earlier minor than the second. Both must be releases. */
export function isOlderMinor(a: string, b: string): boolean {
  return compareVersions({ ...parseVersion(a), patch: 0 }, { ...parseVersion(b), patch: 0 }) < 0;
}

/** Such as 3.6 for 3.6.16, as etcd's downgrade is told where to go. */
export function minorOf(version: string): string {
  const { major, minor } = parseVersion(version);
  return `${major}.${minor}`;
}

/** Whether both are of one minor, such as 3.6.1 and 3.6.16. */
export function isSameMinor(a: string, b: string): boolean {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  return left.major === right.major && left.minor === right.minor;
}
