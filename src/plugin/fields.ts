import { isMap, record } from "#base/json.ts";
import { clean } from "./text.ts";

// Why not the types of src/api?
//   The operator may be older or newer than this plugin. A field that is missing or has another shape is left out.

export type Values = Readonly<Record<string, unknown>>;

/** Longest list that is read. A longer one would fill the screen many times. */
const MOST_ITEMS = 10_000;

/** The field at this path; undefined when a part of the path is missing. */
export function at(object: unknown, ...path: readonly string[]): unknown {
  let value = object;
  for (const name of path) value = isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** The field at this path as one clean line of text; "" when it is missing. */
export function textAt(object: unknown, ...path: readonly string[]): string {
  return clean(at(object, ...path));
}

/** The field at this path as a number; undefined when it is none. */
export function numberAt(object: unknown, ...path: readonly string[]): number | undefined {
  const value = at(object, ...path);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects in the list at this path; none when it is missing. */
export function itemsAt(object: unknown, ...path: readonly string[]): readonly Values[] {
  const value = at(object, ...path);
  return Array.isArray(value) ? value.slice(0, MOST_ITEMS).filter(isMap) : [];
}

/** The texts in the list at this path. */
export function textsAt(object: unknown, ...path: readonly string[]): readonly string[] {
  const value = at(object, ...path);
  return Array.isArray(value) ? value.slice(0, MOST_ITEMS).map((each) => clean(each)) : [];
}

export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since: string;
}

/** The conditions in the status of an object. */
export function conditionsOf(object: unknown): readonly ConditionView[] {
  return itemsAt(object, "status", "conditions").map((each) => ({
    type: textAt(each, "type"),
    status: textAt(each, "status"),
    reason: textAt(each, "reason"),
    message: clean(each.message, 2_000),
    since: textAt(each, "lastTransitionTime"),
  }));
}

export function conditionOf(object: unknown, type: string): ConditionView | undefined {
  return conditionsOf(object).find((each) => each.type === type);
}

export function nameOf(object: unknown): string {
  return textAt(object, "metadata", "name");
}

export function namespaceOf(object: unknown): string {
  return textAt(object, "metadata", "namespace");
}

/** Value of an annotation of the object. */
export function annotationOf(object: unknown, name: string): string {
  return textAt(record(at(object, "metadata", "annotations")), name);
}
