import { OperatorError } from "#base/error.ts";

/** An etcd release. */
interface EtcdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

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

/** Below 0 when `a` is older than `b`, 0 when they are the same release, above 0 when `a` is newer. */
export function compareVersions(a: EtcdVersion, b: EtcdVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}
