import { billionthsOf } from "#api/quantity.ts";
import { fingerprint } from "#base/hash.ts";
import { isMap } from "#base/json.ts";

// When are two pod templates equivalent?
//   Quantities are compared by value. Order counts only where Kubernetes depends on it. Empty fields count as unset.

/** Normalizes quantities in `resources`. @param of an object, with or without `resources` */
export function withAmounts(of: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { resources } = of;
  if (!isMap(resources)) return of;
  const { limits, requests, ...rest } = resources;
  return { ...of, resources: unlessEmpty({ ...rest, limits: amounts(limits), requests: amounts(requests) }) };
}

export function amounts(resources: unknown): object | undefined {
  if (!isMap(resources)) return undefined;
  const entries = Object.entries(resources).map(([kind, quantity]) => [kind, amount(quantity)]);
  return unlessEmpty(Object.fromEntries(entries));
}

export function amount(quantity: unknown): string {
  const text = String(quantity);
  return String(billionthsOf(text) ?? text);
}

/** The value, or `undefined` when it has no defined field. */
export function unlessEmpty<T extends object>(value: T | null | undefined): T | undefined {
  const isEmpty = Object.values(value ?? {}).every((each) => each === undefined);
  return isEmpty || value === null ? undefined : value;
}

/** Whether the value is an empty list or map. */
export function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/**
 * Removes empty lists and maps, which change nothing when merged. Null stays, because it removes a value of the
 * operator.
 */
export function withoutEmpty(map: object): object | undefined {
  const entries = Object.entries(map).filter(([, value]) => !isEmpty(value));
  return unlessEmpty(
    Object.fromEntries(
      entries.map(([key, value]) => [key, Array.isArray(value) && !ORDERED.has(key) ? sorted(value) : value]),
    ),
  );
}

/** Lists with a significant order: a variable may refer to an earlier one, and arguments have positions. */
const ORDERED = new Set(["env", "envFrom", "command", "args"]);

/**
 * Sorts all lists, for affinities: their terms are alternatives or all required. Empty values stay, because they have a
 * meaning.
 */
export function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value).map((item) => unordered(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

/** Sorts a list without a significant order. */
export function sorted(list: readonly unknown[]): unknown[] {
  return list
    .map((item) => [fingerprint(unordered(item)), item] as const)
    .sort(byName)
    .map(([, item]) => item);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}
