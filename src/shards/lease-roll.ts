import { fingerprint } from "#base/hash.ts";
import type { JsonPatch } from "#kube/client.ts";
import type { Lease } from "#kube/kinds.ts";

// Which processes hold a lease together, as the lease itself says: for each a count of its renewals. Nobody compares clocks: that a process
// goes on is seen by its count, and since when it does not, by the clock of who looks.
// Each count has a key of its own, which is patched: so processes that count at the same moment are not in each other's way.

/** On a lease that is held by a group: says that its processes are told there. Without it nobody knows who was. */
export const ROLL_ANNOTATION = "etcd.improbable.io/processes";
const BY_KEY = "by-key";
/** Begins the key of each process; the rest is made of its name. What stands there: its count, after how many seconds without another one it has stopped to act, and its name. */
const KEY_PREFIX = "renewals.etcd.improbable.io/";

/** What a process tells of itself. */
export interface Told {
  /** Its renewals so far. */
  readonly count: number;
  /** Whoever has seen no other count for so long knows that it has stopped to act; whole seconds, in milliseconds. */
  readonly silentMs: number;
}

/** By process. */
export type Roll = ReadonlyMap<string, Told>;

/** Stands for whoever was on a roll that cannot be read. Nobody counts on for it, so it is struck out when those have counted anew, or have ended. */
const SOMEBODY = "?";

/** The roll of a lease that is held by this group; of every other one it is of former times, and empty. */
export function rollOf(lease: Lease | undefined, group: string): Roll {
  if (lease?.spec?.holderIdentity !== group) return new Map();
  const { annotations = {} } = lease.metadata;
  const entries = Object.entries(annotations).flatMap(([key, text]) => (isOfProcess(key) ? [read(key, text)] : []));
  return new Map(hasRoll(lease) ? entries : [...entries, UNKNOWN]);
}

/** Longer than any process says of itself. */
const UNKNOWN: readonly [string, Told] = [SOMEBODY, { count: 0, silentMs: 60_000 }];

/** Those on the roll, and somebody unknown. */
export function withSomebody(roll: Roll): Roll {
  return new Map([...roll, UNKNOWN]);
}

function read(key: string, text: string): readonly [string, Told] {
  const [, count, seconds, name] = /^(\d{1,15}) (\d{1,3}) (.+)$/.exec(text) ?? [];
  if (name === undefined || keyOf(name) !== key) return UNKNOWN;
  return [name, { count: Number(count), silentMs: Number(seconds) * 1_000 }];
}

function textOf(name: string, { count, silentMs }: Told): string {
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

/** A lease's annotations with this roll instead of the one that they have. */
export function annotationsWith(
  roll: Roll,
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const others = Object.entries(annotations).filter(([key]) => !isOfProcess(key));
  const told = [...roll].map(([name, of]) => [keyOf(name), textOf(name, of)] as const);
  return Object.fromEntries([...others, [ROLL_ANNOTATION, BY_KEY], ...told]);
}

/** Whether a process can be put on the roll by a patch, which lets everybody else be: the group holds the lease, and tells there who it is. */
export function isPatchable(lease: Lease | undefined, group: string): lease is Lease {
  return lease?.spec?.holderIdentity === group && hasRoll(lease);
}

/** What must still hold when a patch arrives, whoever has written meanwhile: the group holds the lease, and tells who it is. */
function tests(group: string): readonly JsonPatch[] {
  return [
    { op: "test", path: "/spec/holderIdentity", value: group },
    { op: "test", path: pathOf(ROLL_ANNOTATION), value: BY_KEY },
  ];
}

/**
 * The patch with which a process counts on. A count that was late does not land on a newer one, nor when its process has left.
 * @param before what was seen to stand there of it; undefined: nothing
 * @param renewTime for people, as in `spec` of the lease
 */
export function countPatch(
  group: string,
  name: string,
  before: Told | undefined,
  told: Told,
  renewTime: string,
): readonly JsonPatch[] {
  const path = pathOf(keyOf(name));
  return [
    ...tests(group),
    ...(before === undefined ? [] : [{ op: "test", path, value: textOf(name, before) } as const]),
    { op: "add", path, value: textOf(name, told) },
    { op: "add", path: "/spec/renewTime", value: renewTime },
  ];
}

/** The patch with which a process that others outlive strikes itself out. */
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
  /** Since when this count was seen. */
  readonly sinceMs: number;
  /** Since when the process was seen on the roll. */
  readonly comeMs: number;
}

/** By process. */
export type SeenRoll = ReadonlyMap<string, SeenCount>;

/** What is seen now: a count that has changed is of now, one that is gone is forgotten. */
export function seenRoll(before: SeenRoll, roll: Roll, nowMs: number): SeenRoll {
  const entries = [...roll].map(([name, { count }]) => {
    const known = before.get(name);
    return [name, known?.count === count ? known : { count, sinceMs: nowMs, comeMs: known?.comeMs ?? nowMs }] as const;
  });
  return new Map(entries);
}

/**
 * Who has counted on within this time, in the order of their names. Somebody unknown does no work that is known of.
 * @param forMs only who came so long ago, or earlier
 */
export function aliveIn(seen: SeenRoll, withinMs: number, forMs: number, nowMs: number): readonly string[] {
  const isAlive = ({ sinceMs, comeMs }: SeenCount): boolean => nowMs - sinceMs < withinMs && nowMs - comeMs >= forMs;
  const alive = [...seen].filter(([name, each]) => name !== SOMEBODY && isAlive(each));
  return alive.map(([name]) => name).toSorted();
}

/** The roll without `me` and without those who have not counted on for so long that they have stopped acting. */
export function othersOn(roll: Roll, seen: SeenRoll, me: string, nowMs: number): Roll {
  const isOver = (name: string, silentMs: number): boolean => nowMs - (seen.get(name)?.sinceMs ?? nowMs) >= silentMs;
  return new Map([...roll].filter(([name, { silentMs }]) => name !== me && !isOver(name, silentMs)));
}
