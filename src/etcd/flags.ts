import { FLAGS, MINORS, type Minor, type Row } from "#etcd/flags/list.ts";
import { nearestName } from "#etcd/flags/nearest.ts";
import { RESERVED } from "#etcd/flags/reserved.ts";
import { listedMinor, minorsBetween } from "#etcd/flags/span.ts";
import { whyNotValue } from "#etcd/flags/values.ts";

// What is judged here? Flags that people give to etcd, by their names without dashes, with values as text.
// And of a minor version whose flags are not listed? Nothing but what holds for all: who could not look does not refuse.
// Is what passes here taken by every member? By the parser of the newest patch. An older patch may lack a flag; and what etcd looks at
//   later, such as the name of a log level, the first member that starts with it tells.

/** Names of flags, without dashes → values. */
export type ExtraArgs = Readonly<Record<string, string>>;

const BY_NAME: ReadonlyMap<string, Row> = new Map(FLAGS.map((row) => [row[0], row]));

/**
 * Why etcd cannot be given these flags: a sentence for each that it cannot be given, which begins with the flag. None when all are well.
 * @param version the release that is to get them
 * @throws OperatorError InvalidSpec when `version` is no release
 */
export function whyNotFlags(extraArgs: ExtraArgs, version: string): readonly string[] {
  const minor = listedMinor(version);
  return Object.entries(extraArgs).flatMap(([name, value]) => {
    const why =
      whyNever(name) ??
      (minor && (whyUnknown(name, minor) ?? whyWrongValue(name, value, minor) ?? whyTwice(name, extraArgs, minor)));
    return why === undefined ? [] : [sentence(name, why)];
  });
}

/** Sentences about those flags that this release takes, and that a later one will not. */
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

/** What holds for every version. */
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

/** A version that knows an old and a new name of the same thing refuses to be given both. */
function whyTwice(name: string, extraArgs: ExtraArgs, minor: Minor): string | undefined {
  const instead = BY_NAME.get(name)?.[5];
  if (instead === undefined) return undefined;
  const newer = isGate(instead) ? "feature-gates" : instead;
  const given = extraArgs[newer];
  if (given === undefined || !isKnown(newer, minor)) return undefined;
  // etcd looks for the name of the gate as a text, and these two stand for all of them.
  const isTwice = !isGate(instead) || [instead, "AllAlpha", "AllBeta"].some((gate) => given.includes(gate));
  return isTwice ? `cannot be given beside ${newer}${insteadOf(instead)}` : undefined;
}

/** The flags of this version that people can give. */
export function givableTo(minor: Minor): readonly string[] {
  return FLAGS.map(([name]) => name).filter((name) => isKnown(name, minor) && whyNever(name) === undefined);
}

function isKnown(name: string, minor: Minor): boolean {
  const row = BY_NAME.get(name);
  return row !== undefined && minorsBetween(row[2], row[3]).includes(minor);
}

/** What this version calls a flag that later ones know by that name. */
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
