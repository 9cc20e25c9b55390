import { billionthsOf } from "#api/quantity.ts";
import { fingerprint } from "#base/hash.ts";
import { isMap } from "#base/json.ts";

// When do two wishes mean the same?
//   Amounts count, and not how they are written; the order counts only where it means something; and what holds nothing says nothing.

/** @param of has resources of its own, or has none */
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

/** What says something: nothing is left of what holds nothing. */
export function unlessEmpty<T extends object>(value: T | null | undefined): T | undefined {
  const isEmpty = Object.values(value ?? {}).every((each) => each === undefined);
  return isEmpty || value === null ? undefined : value;
}

/** A list or a map of nothing adds nothing to what the operator says. Null takes something of it away, so it means something. */
export function withoutEmpty(map: object): object | undefined {
  const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const entries = Object.entries(map).filter(([, value]) => !isEmpty(value));
  return unlessEmpty(
    Object.fromEntries(
      entries.map(([key, value]) => [key, Array.isArray(value) && !ORDERED.has(key) ? sorted(value) : value]),
    ),
  );
}

/** Lists in which the order means something: a variable may refer to an earlier one, and words of a command are words of a command. */
const ORDERED = new Set(["env", "envFrom", "command", "args"]);

/** In an affinity the order means nothing: its terms are alternatives or all of them hold. What is empty means something. */
export function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value).map((item) => unordered(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

/** A list whose order means nothing. */
export function sorted(list: readonly unknown[]): unknown[] {
  return list
    .map((item) => [fingerprint(unordered(item)), item] as const)
    .sort(byName)
    .map(([, item]) => item);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}
