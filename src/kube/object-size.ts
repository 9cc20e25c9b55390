import { OperatorError } from "#base/error.ts";
import { type Observed, unknown } from "#base/observed.ts";
import type { KubeObject } from "./kinds.ts";

// How large may one object be?
//   The API server accepts objects of 1.5 MiB from every user with write access to the kind. In memory such an object
//   can be twenty times as large (a list of empty lists). It is held while it exists, and read again after a restart.
// What happens to an object that is too large?
//   A stub is kept: name, identity and the few fields that indexes need. Reading it throws ObjectTooLarge, so it never
//   seems absent: each pass that needs it ends, and nothing that belongs to it is changed.

/** Largest size of one object, or of one field of it. */
export interface SizeLimit {
  /** Field that is measured, such as `spec`; undefined: the whole object. */
  readonly field?: string;
  /** Characters of its JSON, without the escapes. */
  readonly characters: number;
  /** Number of values: texts, numbers, lists and objects. Each takes about 60 bytes in memory. */
  readonly values: number;
}

/**
 * Limit for every object.
 *
 * - If smaller, valid objects might exceed it: 256 KiB of annotations, or an EtcdPeer with two pod templates of 128
 *   KiB. Other objects that the operator writes stay below a tenth of it.
 * - If larger, fifty such objects take more than 100 MB of the 512 MiB of the operator's container.
 */
export const OBJECT_LIMIT: SizeLimit = { characters: 524_288, values: 20_000 };

interface Size {
  readonly characters: number;
  readonly values: number;
}

/** Measures plain data of any depth, without recursion. */
export function sizeOf(value: unknown): Size {
  let [characters, values] = [0, 0];
  const left: unknown[] = [value];
  while (left.length > 0) {
    const each = left.pop();
    values += 1;
    if (typeof each === "string") characters += each.length + 3;
    else if (typeof each !== "object" || each === null) characters += 5;
    else {
      characters += 2;
      const isList = Array.isArray(each);
      for (const key of Object.keys(each)) {
        if (!isList) characters += key.length + 3;
        left.push(each[key as keyof typeof each]);
      }
    }
  }
  return { characters, values };
}

/**
 * Message that states what is too large and what to do; undefined when the object is within all limits.
 * @param limits of its kind, in addition to OBJECT_LIMIT
 */
export function whyTooLarge(object: KubeObject, limits: readonly SizeLimit[] = []): string | undefined {
  for (const limit of [...limits, OBJECT_LIMIT]) {
    const part = limit.field === undefined ? object : object[limit.field as keyof KubeObject];
    const size = sizeOf(part);
    const isTooLong = size.characters > limit.characters;
    if (!isTooLong && size.values <= limit.values) continue;
    const { namespace, name } = object.metadata;
    const subject = `${object.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
    const what = limit.field === undefined ? "it" : `its ${limit.field}`;
    const [is, may] = isTooLong
      ? [`${size.characters} characters`, String(limit.characters)]
      : [`${size.values} values`, String(limit.values)];
    return `${subject} is too large: ${what} has ${is}, most of them in ${largestOf(part)}; at most ${may} are read. The operator leaves it and what belongs to it as it is. Make it smaller.`;
  }
  return undefined;
}

/** Path of the largest field, at most two levels deep. */
function largestOf(part: unknown): string {
  const [first, inner] = largestIn(part);
  const [second] = largestIn(inner);
  return [first, second].filter((key) => key !== undefined).join(".") || "one text";
}

function largestIn(value: unknown): readonly [string | undefined, unknown] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [undefined, undefined];
  let largest: readonly [string | undefined, unknown] = [undefined, undefined];
  let most = -1;
  for (const [key, each] of Object.entries(value).slice(0, MOST_FIELDS)) {
    const { characters } = sizeOf(each);
    if (characters > most) [largest, most] = [[key.slice(0, LONGEST_FIELD), each], characters];
  }
  return largest;
}

/** Bounds on the fields compared and on the length of their names in a message, since users choose both. */
const MOST_FIELDS = 100;
const LONGEST_FIELD = 40;

/** Stubs of objects that are too large, with the message of `whyTooLarge`. */
const faults = new WeakMap<KubeObject, string>();

/** Why the object is only a stub; undefined when it is complete. */
export function faultOf(object: KubeObject): string | undefined {
  return faults.get(object);
}

/** Marks `rest` as the stub of an object that is too large. */
export function keptInPlace<T extends KubeObject>(rest: T, fault: string): T {
  faults.set(rest, fault);
  return rest;
}

/** Returns the object if it is complete. @throws OperatorError ObjectTooLarge when it is a stub */
export function whole<T extends KubeObject>(object: T): T {
  const fault = faultOf(object);
  if (fault !== undefined) throw new OperatorError("ObjectTooLarge", fault);
  return object;
}

/** Turns an object that is too large into unknown, for objects that are read by name and kept outside a cache. */
export function ofUsualSize<T extends KubeObject>(found: Observed<T>): Observed<T> {
  const why = found.is === "present" ? whyTooLarge(found.value) : undefined;
  return why === undefined ? found : unknown(why);
}
