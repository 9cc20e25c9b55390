import { MINORS, type Minor } from "#etcd/flags/list.ts";
import { parseVersion } from "#etcd/version.ts";

/** The minor version of a release, such as "3.6". Undefined when its flags are not listed. */
export function listedMinor(version: string): Minor | undefined {
  const { major, minor } = parseVersion(version);
  return MINORS.find((listed) => listed === `${major}.${minor}`);
}

/** The listed minor versions from `first` to `last`, both included. */
export function minorsBetween(first: Minor, last: Minor): readonly Minor[] {
  return MINORS.slice(MINORS.indexOf(first), MINORS.indexOf(last) + 1);
}
