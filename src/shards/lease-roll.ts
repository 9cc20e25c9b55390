import { fingerprint } from "#base/hash.ts";
import type { JsonPatch } from "#kube/client.ts";
import type { Lease } from "#kube/kinds.ts";

// The roll: the processes that hold a lease together, stored on the lease itself, each with a count of its renewals.
// Clocks are never compared: a process is alive while its count changes, timed by the observer's clock.
// Each count has its own annotation key, which is patched, so concurrent renewals do not conflict.

/** Annotation on a lease that is held by a group: marks that its roll is complete. Without it the roll is unknown. */
export const ROLL_ANNOTATION = "etcd.improbable.io/processes";
const BY_KEY = "by-key";
/**
 * Prefix of the key of each process; the rest is a hash of its name. The value is its count, the seconds after which it
 * has stopped acting without a new one, and its name.
 */
const KEY_PREFIX = "renewals.etcd.improbable.io/";

/** The entry of a process. */
export interface RollEntry {
  /** Its renewals so far. */
  readonly count: number;
  /** Time without a change of its count after which a process has stopped acting; whole seconds, in milliseconds. */
  readonly silentMs: number;
}

/** Announced counts by process. */
export type Roll = ReadonlyMap<string, RollEntry>;

/**
 * Placeholder for processes of a roll that cannot be parsed. It never renews, so it is removed when the real ones have
 * renewed, or have ended.
 */
const SOMEBODY = "?";

/** The roll of a lease that this group holds. Empty for any other lease, since its roll is out of date. */
export function rollOf(lease: Lease | undefined, group: string): Roll {
  if (lease?.spec?.holderIdentity !== group) return new Map();
  const { annotations = {} } = lease.metadata;
  const entries = Object.entries(annotations).flatMap(([key, text]) => (isOfProcess(key) ? [read(key, text)] : []));
  return new Map(hasRoll(lease) ? entries : [...entries, UNKNOWN]);
}

/** Longer than any process announces. */
const UNKNOWN: readonly [string, RollEntry] = [SOMEBODY, { count: 0, silentMs: 60_000 }];

/** The roll with a placeholder for unknown processes. */
export function withSomebody(roll: Roll): Roll {
  return new Map([...roll, UNKNOWN]);
}

function read(key: string, text: string): readonly [string, RollEntry] {
  const [, count, seconds, name] = /^(\d{1,15}) (\d{1,3}) (.+)$/.exec(text) ?? [];
  if (name === undefined || keyOf(name) !== key) return UNKNOWN;
  return [name, { count: Number(count), silentMs: Number(seconds) * 1_000 }];
}

function textOf(name: string, { count, silentMs }: RollEntry): string {
  return `${count} ${silentMs / 1_000} ${name}`;
}

function isOfProcess(key: string): boolean {
  return key.startsWith(KEY_PREFIX);
}

function hasRoll(lease: Lease): boolean {
  return lease.metadata.annotations?.[ROLL_ANNOTATION] === BY_KEY;
}

function keyOf(name: string): string {
  return `${KEY_PREFIX}${fingerprint(name)}`;
}

/** A lease's annotations with the roll replaced. */
export function annotationsWith(
  roll: Roll,
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const others = Object.entries(annotations).filter(([key]) => !isOfProcess(key));
  const entries = [...roll].map(([name, of]) => [keyOf(name), textOf(name, of)] as const);
  return Object.fromEntries([...others, [ROLL_ANNOTATION, BY_KEY], ...entries]);
}

/** Whether an entry can be patched without affecting others: the group holds the lease, and its roll is complete. */
export function isPatchable(lease: Lease | undefined, group: string): lease is Lease {
  return lease?.spec?.holderIdentity === group && hasRoll(lease);
}

/** Preconditions of a patch: the group still holds the lease, and its roll is complete. */
function tests(group: string): readonly JsonPatch[] {
  return [
    { op: "test", path: "/spec/holderIdentity", value: group },
    { op: "test", path: pathOf(ROLL_ANNOTATION), value: BY_KEY },
  ];
}

/**
 * The patch that renews. A delayed patch fails when a newer count is stored, or when its process has left.
 * @param before the entry that was seen; undefined: none
 * @param renewTime for users, as in `spec` of the lease
 */
export function countPatch(
  group: string,
  name: string,
  before: RollEntry | undefined,
  entry: RollEntry,
  renewTime: string,
): readonly JsonPatch[] {
  const path = pathOf(keyOf(name));
  return [
    ...tests(group),
    ...(before === undefined ? [] : [{ op: "test", path, value: textOf(name, before) } as const]),
    { op: "add", path, value: textOf(name, entry) },
    { op: "add", path: "/spec/renewTime", value: renewTime },
  ];
}

/** The patch by which a process removes itself while others stay. */
export function leavePatch(group: string, name: string): readonly JsonPatch[] {
  return [...tests(group), { op: "remove", path: pathOf(keyOf(name)) }];
}

/** https://www.rfc-editor.org/rfc/rfc6901#section-3 */
function pathOf(annotation: string): string {
  return `/metadata/annotations/${annotation.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What was seen of one process; monotonic, in milliseconds. */
interface SeenCount {
  readonly count: number;
  /** When this count was first seen. */
  readonly sinceMs: number;
  /** When the process was first seen on the roll. */
  readonly comeMs: number;
}

/** Seen counts by process. */
export type SeenRoll = ReadonlyMap<string, SeenCount>;

/** Updates what was seen: a changed count is new now, a removed process is forgotten. */
export function seenRoll(before: SeenRoll, roll: Roll, nowMs: number): SeenRoll {
  const entries = [...roll].map(([name, { count }]) => {
    const known = before.get(name);
    return [name, known?.count === count ? known : { count, sinceMs: nowMs, comeMs: known?.comeMs ?? nowMs }] as const;
  });
  return new Map(entries);
}

/**
 * Processes that have renewed within this time, sorted by name. Excludes the placeholder for unknown ones.
 * @param forMs only those that joined at least so long ago
 */
export function aliveIn(seen: SeenRoll, withinMs: number, forMs: number, nowMs: number): readonly string[] {
  const isAlive = ({ sinceMs, comeMs }: SeenCount): boolean => nowMs - sinceMs < withinMs && nowMs - comeMs >= forMs;
  const alive = [...seen].filter(([name, each]) => name !== SOMEBODY && isAlive(each));
  return alive.map(([name]) => name).toSorted();
}

/** The roll without `me` and without processes beyond their announced time. */
export function othersOn(roll: Roll, seen: SeenRoll, me: string, nowMs: number): Roll {
  const isOver = (name: string, silentMs: number): boolean => nowMs - (seen.get(name)?.sinceMs ?? nowMs) >= silentMs;
  return new Map([...roll].filter(([name, { silentMs }]) => name !== me && !isOver(name, silentMs)));
}
