import { millisecondsOf } from "#api/duration.ts";
import { billionthsOf } from "#api/quantity.ts";
import { isMap } from "#base/json.ts";
import { isDuration, isQuantity, type Schema } from "./kind-schemas.ts";

/** A value that differs; undefined where it is absent. */
export interface Difference {
  /** Path with `[]` for an item of a list and `{}` for a value of a map, such as `.spec.roles[]`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * Differences in meaning: durations, quantities and numbers in texts are compared by value. An empty value and an absent
 * one differ.
 */
export function differences(before: unknown, after: unknown, schema: Schema = {}, path = ""): Difference[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((each, n) => differences(each, after[n], schema.items, `${path}[]`));
  if (isMap(before) && isMap(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => {
      const own = schema.properties?.[name];
      const below = own !== undefined || schema.additionalProperties === undefined ? `${path}.${name}` : `${path}{}`;
      return differences(before[name], after[name], own ?? schema.additionalProperties, below);
    });
  }
  return meaning(before, schema) === meaning(after, schema) ? [] : [{ path, before, after }];
}

function meaning(value: unknown, schema: Schema): string {
  if (typeof value === "object" || value === undefined) return JSON.stringify(value) ?? "absent";
  const text = String(value);
  if (isDuration(schema)) return `${millisecondsOf(text) ?? text} ms`;
  if (isQuantity(schema)) return `${billionthsOf(text) ?? text} billionths`;
  return schema["x-kubernetes-int-or-string"] === true ? text : JSON.stringify(value);
}
