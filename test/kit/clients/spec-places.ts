import { isMap } from "#base/json.ts";
import type { Schema } from "./kind-schemas.ts";

// Which places does a spec have?
//   Every property of the schema, at any depth. A place below an optional object exists only in a spec that has the
//   object. So each place comes with a spec that has everything above it, and that the API server accepts.
// How are such specs found?
//   From a first spec, object by object: values are tried that fit the schema, until the API server accepts one. Where
//   fields exclude each other, other fields beside the object are left out or get another value.

export type Json = Readonly<Record<string, unknown>>;
/** A name of a field, an index of a list, or a key of a map. */
export type Path = readonly (string | number)[];

/** A property of a spec. */
export interface Place {
  readonly path: Path;
  readonly schema: Schema;
  readonly isRequired: boolean;
  /** A valid spec with everything above the place. */
  readonly within: Json;
}

/** Key of the only value in a tried map. */
const KEY = "a";

/** Texts that fit some schema. */
const TEXTS = [
  "a", "abc", "1", "1h", "1s", "1d", "1Gi", "3.6.16", "https://example.com", "0 * * * *", "UTC", "10.0.0.0/8", "example.com",
  `sha256:${"0".repeat(64)}`, "0".repeat(64), "2026-01-01T00:00:00Z", "s3://bucket/a", "0".repeat(16),
]; // biome-ignore format: a list of words

/**
 * All places of a spec.
 * @param accepts whether the API server accepts a spec @param first an accepted spec
 * @returns places, and paths of objects for which no accepted spec was found
 */
export async function placesOf(
  schema: Schema,
  first: Json,
  accepts: (spec: Json) => Promise<boolean>,
): Promise<{ readonly places: readonly Place[]; readonly unreached: readonly string[] }> {
  const places: Place[] = [];
  const unreached: string[] = [];
  const visit = async (of: Schema, at: Path, within: Json): Promise<void> => {
    for (const [name, child] of Object.entries(of.properties ?? {})) {
      const path = [...at, name];
      places.push({ path, schema: child, isRequired: of.required?.includes(name) === true, within });
      const inner = objectIn(child);
      if (inner === undefined) continue;
      const below = await withObject(of, child, path, within);
      if (below === undefined) unreached.push(pathText(path));
      else await visit(inner.schema, [...path, ...inner.steps], below);
    }
  };
  const withObject = async (of: Schema, child: Schema, path: Path, within: Json): Promise<Json | undefined> => {
    const steps = objectIn(child)?.steps ?? [];
    if (isMap(valueAt(within, [...path, ...steps]))) return within;
    for (const candidate of candidates(child)) {
      for (const variant of variants(of, path, within)) {
        const spec = withValue(variant, path, candidate);
        if (isMap(valueAt(spec, [...path, ...steps])) && (await accepts(spec))) return spec;
      }
    }
    return undefined;
  };
  await visit(schema, [], first);
  return { places, unreached };
}

/** The object with properties in a value: itself, an item of a list, or a value of a map. */
function objectIn(schema: Schema): { readonly schema: Schema; readonly steps: Path } | undefined {
  if (schema.properties !== undefined) return { schema, steps: [] };
  const [child, step] = schema.items !== undefined ? [schema.items, 0] : [schema.additionalProperties, KEY];
  const inner = child && objectIn(child);
  return inner && { schema: inner.schema, steps: [step, ...inner.steps] };
}

/** Values to try for a schema; the first is the smallest. */
function candidates(schema: Schema): readonly unknown[] {
  const { type, items, additionalProperties, properties, required = [] } = schema;
  if (schema.enum !== undefined) return schema.enum;
  if (schema["x-kubernetes-int-or-string"] === true) return ["1Gi", "1"];
  if (items !== undefined) return candidates(items).map((each) => [each]);
  if (additionalProperties !== undefined) return candidates(additionalProperties).map((each) => ({ [KEY]: each }));
  if (type === "object") return objects(properties, required);
  if (type === "boolean") return [true, false];
  if (type === "integer" || type === "number") return [schema.minimum ?? 1];
  return TEXTS.filter((text) => fits(text, schema));
}

/** Objects with the required fields, each field with its first values, and with one optional field more. */
function objects(properties: NonNullable<Schema["properties"]> = {}, required: readonly string[]): readonly Json[] {
  const values = (name: string) => candidates(properties[name] ?? {});
  const filled = (n: number): Json =>
    Object.fromEntries(required.map((name) => [name, values(name)[n] ?? values(name).at(-1)]));
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  return [
    ...Array.from({ length: Math.max(1, ...required.map((name) => values(name).length)) }, (_, n) => filled(n)),
    ...optional.flatMap((name) => values(name).map((value) => ({ ...filled(0), [name]: value }))),
  ];
}

function fits(
  text: string,
  { format, pattern: own, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER, ...schema }: Schema,
): boolean {
  if (own !== undefined && !new RegExp(own).test(text)) return false;
  if (text.length < minLength || text.length > maxLength) return false;
  if (format === "date-time" && Number.isNaN(Date.parse(text))) return false;
  const rules = schema["x-kubernetes-validations"] ?? [];
  return rules.every(({ rule }) => {
    const [, pattern] = /^self[.]matches[(]'(.*?)'[)]/.exec(rule) ?? [];
    return pattern === undefined || expression(pattern).test(text);
  });
}

/** A regular expression of CEL as one of JavaScript. */
function expression(pattern: string): RegExp {
  const [, flags = "", rest = ""] = /^(?:\^?[(][?](i)[)])?(.*)$/.exec(pattern.replaceAll("\\\\", "\\")) ?? [];
  return new RegExp(rest.replaceAll("[:space:]", "\\s").replaceAll("[:cntrl:]", "\\x00-\\x1f"), flags);
}

/** Specs in which the object at a path may fit: without a field beside it, or with another value there. */
function variants({ properties = {}, required = [] }: Schema, path: Path, spec: Json): readonly Json[] {
  const [parent, name] = [path.slice(0, -1), path.at(-1)];
  const beside = Object.entries(properties).filter(([each]) => each !== name);
  const present = beside.filter(([each]) => valueAt(spec, [...parent, each]) !== undefined);
  const removable = present.filter(([each]) => !required.includes(each)).map(([each]) => [...parent, each]);
  const reduced = [spec, removable.reduce(without, spec)];
  return [
    ...reduced,
    ...removable.map((each) => without(spec, each)),
    ...beside.flatMap(([each, { enum: values = [] }]) =>
      values.flatMap((value) => reduced.map((from) => withValue(from, [...parent, each], value))),
    ),
  ];
}

export function valueAt(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return value;
  return typeof value === "object" && value !== null ? valueAt((value as Json)[step], rest) : undefined;
}

/** The spec with another value at a path; everything above it exists. */
export function withValue(spec: Json, path: Path, value: unknown): Json {
  const copy = structuredClone(spec);
  (valueAt(copy, path.slice(0, -1)) as Record<string, unknown>)[path.at(-1) ?? ""] = value;
  return copy;
}

/** The spec without the property at a path. */
export function without(spec: Json, path: Path): Json {
  const copy = structuredClone(spec);
  delete (valueAt(copy, path.slice(0, -1)) as Record<string, unknown>)[path.at(-1) ?? ""];
  return copy;
}

/** A path as messages of the API server have it. */
export function pathText(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : `${text}.${step}`),
    "spec",
  );
}
