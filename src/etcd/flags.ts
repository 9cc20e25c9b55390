import { FLAGS, MINORS, type Minor, type Row } from "#etcd/flags/list.ts";
import { nearestName } from "#etcd/flags/nearest.ts";
import { RESERVED } from "#etcd/flags/reserved.ts";
import { listedMinor, minorsBetween } from "#etcd/flags/span.ts";
import { whyNotValue } from "#etcd/flags/values.ts";

// What is validated here?
//   etcd flags that users set, by name without dashes, with their values as text.
// What about a minor version without a list of flags?
//   Only checks that hold for all versions apply: an unknown version is no reason to reject a flag.
// Does every member accept a flag that passes?
//   The flag parser of the newest patch does. An older patch may lack a flag. etcd checks some values only later, such
//   as the log level. The first member that starts with the flag then fails.

/** Flag name without dashes → value. */
export type ExtraArgs = Readonly<Record<string, string>>;

const BY_NAME: ReadonlyMap<string, Row> = new Map(FLAGS.map((row) => [row[0], row]));

/**
 * Invalid flags that are reported at most. Larger: finding similar names for thousands of unknown flags takes a second.
 */
const MAX_NAMED = 20;

/**
 * Explains why flags are invalid: one sentence, which begins with the flag, for each of the first 20. Empty when all
 * are valid.
 * @param version the release of etcd that is started with the flags
 * @throws OperatorError InvalidSpec when `version` is not a release
 */
export function whyNotFlags(extraArgs: ExtraArgs, version: string): readonly string[] {
  const minor = listedMinor(version);
  const sentences: string[] = [];
  for (const [name, value] of Object.entries(extraArgs)) {
    if (sentences.length === MAX_NAMED) break;
    const why =
      whyNever(name) ??
      (minor && (whyUnknown(name, minor) ?? whyWrongValue(name, value, minor) ?? whyTwice(name, extraArgs, minor)));
    if (why !== undefined) sentences.push(sentence(name, why));
  }
  return sentences;
}

/** Warnings, one sentence each, about flags that this release accepts but has deprecated. */
export function flagWarnings(extraArgs: ExtraArgs, version: string): readonly string[] {
  const minor = listedMinor(version);
  return Object.keys(extraArgs).flatMap((name) => {
    const [, , , last, deprecated, instead] = BY_NAME.get(name) ?? [];
    if (minor === undefined || last === undefined || deprecated === undefined) return [];
    if (MINORS.indexOf(minor) < MINORS.indexOf(deprecated) || whyUnknown(name, minor) !== undefined) return [];
    const missing = MINORS[MINORS.indexOf(last) + 1];
    const until = missing === undefined ? "" : `, and not a flag of ${missing}`;
    return [sentence(name, `is deprecated in etcd ${minor}${until}${insteadOf(instead)}`)];
  });
}

function sentence(name: string, why: string): string {
  return `${JSON.stringify(name)} ${why}`;
}

/** Why the flag is invalid in every version. */
function whyNever(name: string): string | undefined {
  if (name.startsWith("-")) return `is written without dashes: ${name.replace(/^-+/, "")}`;
  if (BY_NAME.get(name)?.[1] === "ignored")
    return "does nothing: etcd takes it only so that old command lines still work";
  return RESERVED.get(name);
}

function whyUnknown(name: string, minor: Minor): string | undefined {
  if (isKnown(name, minor)) return undefined;
  const row = BY_NAME.get(name);
  const isNot = `is not a flag of etcd ${minor}`;
  if (row !== undefined) {
    const [, , first, last, , instead] = row;
    const newer = MINORS.indexOf(minor) > MINORS.indexOf(last) ? instead : olderName(name, minor);
    return `${isNot}, only of ${minorsBetween(first, last).join(" and ")}${insteadOf(newer)}`;
  }
  const meant = nearestName(name, givableTo(minor));
  return meant === undefined ? isNot : `${isNot}; did you mean ${meant}?`;
}

function whyWrongValue(name: string, value: string, minor: Minor): string | undefined {
  const takes = BY_NAME.get(name)?.[1];
  const why = takes && whyNotValue(takes, value, minor);
  return why === undefined ? undefined : `is ${JSON.stringify(value)}; it ${why}`;
}

/** Detects a flag given together with its replacement: a version that has both rejects the combination. */
function whyTwice(name: string, extraArgs: ExtraArgs, minor: Minor): string | undefined {
  const instead = BY_NAME.get(name)?.[5];
  if (instead === undefined) return undefined;
  const newer = isGate(instead) ? "feature-gates" : instead;
  const given = extraArgs[newer];
  if (given === undefined || !isKnown(newer, minor)) return undefined;
  // etcd searches the value for the gate's name as a substring. AllAlpha and AllBeta include every gate of their stage.
  const isTwice = !isGate(instead) || [instead, "AllAlpha", "AllBeta"].some((gate) => given.includes(gate));
  return isTwice ? `cannot be given beside ${newer}${insteadOf(instead)}` : undefined;
}

/** The flags of this version that users can set. */
export function givableTo(minor: Minor): readonly string[] {
  return FLAGS.map(([name]) => name).filter((name) => isKnown(name, minor) && whyNever(name) === undefined);
}

function isKnown(name: string, minor: Minor): boolean {
  const row = BY_NAME.get(name);
  return row !== undefined && minorsBetween(row[2], row[3]).includes(minor);
}

/** This version's older name of a flag that later versions renamed to `name`. */
function olderName(name: string, minor: Minor): string | undefined {
  return FLAGS.find(([older, , , , , instead]) => instead === name && isKnown(older, minor))?.[0];
}

function insteadOf(instead: string | undefined): string {
  if (instead === undefined) return "";
  return isGate(instead) ? `; use feature-gates with ${instead}=true` : `; use ${instead}`;
}

function isGate(instead: string): boolean {
  return /^[A-Z]/.test(instead);
}
