import { SHAPES } from "#api/v1beta1/shapes.ts";
import { isMap, quoted } from "#base/json.ts";

// Why is the shape checked here, although the API server checks the schema?
//   The API server checks only the version in which an object is written. It does not check converted objects, or
//   objects stored before the schema existed. This check works without the library that the schemas are written with.
// What is not checked?
//   CEL rules. Unknown keys are accepted too, because they may come from a newer operator.

/** Keywords of a structural schema that are checked here. */
export interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape;
  readonly items?: Shape;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

/**
 * Maximum depth of values without a schema. No pod has half as many levels; deeper values could overflow the stack of a
 * recursive function.
 */
const MAX_DEPTH = 32;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isMap,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
};
const A: Readonly<Record<string, string>> = { object: "an object", array: "a list", string: "a text" };

/**
 * First reason why a value is not a spec of v1beta1: a sentence with the field, its value and the valid values.
 * @param spec any JSON value @param kind EtcdCluster, EtcdPeer or EtcdBackup
 */
export function whyNotShape(spec: unknown, kind: string): string | undefined {
  const shapes: Readonly<Record<string, Shape>> = SHAPES;
  const shape = Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  return shape === undefined ? undefined : whyNot(spec, shape, "spec");
}

/** Fields of the spec of this kind in v1beta1. */
export function fieldsOf(kind: keyof typeof SHAPES): readonly string[] {
  return Object.keys(SHAPES[kind].properties);
}

function whyNot(value: unknown, shape: Shape, path: string): string | undefined {
  const may = mayBe(value, shape);
  if (may !== undefined) return `${path} is ${quoted(value)}; it must be ${may}`;
  if (Array.isArray(value)) return firstOf(value.entries(), (index) => [shape.items, `${path}[${index}]`]);
  if (typeof value !== "object" || value === null) return undefined;
  const missing = (shape.required ?? []).find((field) => !Object.hasOwn(value, field));
  if (missing !== undefined) return `${path}.${missing} is missing; it must be given`;
  return firstOf(Object.entries(value), (key) => [shapeOf(shape, key), below(path, key)]);
}

/** @param at returns the path of a part, and its shape if it has one */
function firstOf<Key>(parts: Iterable<[Key, unknown]>, at: (key: Key) => [Shape | undefined, string]) {
  for (const [key, part] of parts) {
    const [shape, path] = at(key);
    const sentence = shape === undefined ? whyTooDeep(part, path) : whyNot(part, shape, path);
    if (sentence !== undefined) return sentence;
  }
  return undefined;
}

function shapeOf({ properties = {}, additionalProperties }: Shape, key: string): Shape | undefined {
  return Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
}

/** Valid values, when the value is not one of them. */
function mayBe(value: unknown, shape: Shape): string | undefined {
  if (shape["x-kubernetes-int-or-string"] === true) {
    if (!Number.isInteger(value) && typeof value !== "string") return "a number or a text";
  } else if (shape.type !== undefined && TYPES[shape.type]?.(value) === false) {
    return A[shape.type] ?? `a ${shape.type}`.replace("a integer", "an integer");
  }
  if (shape.enum !== undefined && !shape.enum.includes(value)) return shape.enum.join(" or ");
  if (typeof value === "number") return outside(value, shape.minimum, shape.maximum, "");
  if (typeof value === "string")
    return outside([...value].length, shape.minLength, shape.maxLength, " characters long");
  if (Array.isArray(value)) return outside(value.length, shape.minItems, shape.maxItems, " items long");
  if (typeof value !== "object" || value === null || shape.maxProperties === undefined) return undefined;
  return outside(Object.keys(value).length, undefined, shape.maxProperties, " keys large");
}

function outside(is: number, min = -Infinity, max = Infinity, of: string): string | undefined {
  if (is < min) return `at least ${min}${of}`;
  return is > max ? `at most ${max}${of}` : undefined;
}

/** End of the message about a value that is nested too deeply. */
export const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep; it must be at most ${MAX_DEPTH}`;

/**
 * Whether the value is nested too deeply. Visits level by level without recursion, so that no depth overflows the
 * stack.
 */
export function isTooDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return true;
}

function whyTooDeep(value: unknown, path: string): string | undefined {
  return isTooDeep(value) ? `${path} ${TOO_DEEP}` : undefined;
}

function below(path: string, key: string): string {
  return /^[\w-]+$/.test(key) ? `${path}.${key}`.slice(0, 400) : `${path}[${JSON.stringify(key).slice(0, 100)}]`;
}
