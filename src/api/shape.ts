import { SHAPES } from "#api/v1beta1/shapes.ts";
import { isMap, told } from "#base/json.ts";

// Why, when the API server checks the schema?
//   It checks the version in which an object was written. What comes from a conversion, or was stored before there was a schema, it takes
//   as it is. Here the same is asked, without the library that the schemas are written with.
// What is not asked? Rules in CEL. And keys that are not known: they may be those of a newer operator, and are kept.

/** What of a structural schema is asked: the words are those of the schema. */
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

/** Levels below a place that no shape knows: no pod has half as many, and whoever walks through it has a stack that ends. */
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
 * The first thing that keeps this from being a spec of v1beta1: a sentence that names the field, what it is and what it may be.
 * @param spec anything that JSON can hold @param kind EtcdCluster, EtcdPeer or EtcdBackup
 */
export function whyNotShape(spec: unknown, kind: string): string | undefined {
  const shapes: Readonly<Record<string, Shape>> = SHAPES;
  const shape = Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  return shape === undefined ? undefined : whyNot(spec, shape, "spec");
}

/** The fields of a spec of this kind, as v1beta1 knows them. */
export function fieldsOf(kind: keyof typeof SHAPES): readonly string[] {
  return Object.keys(SHAPES[kind].properties);
}

function whyNot(value: unknown, shape: Shape, path: string): string | undefined {
  const may = mayBe(value, shape);
  if (may !== undefined) return `${path} is ${told(value)}; it must be ${may}`;
  if (Array.isArray(value)) return firstOf(value.entries(), (index) => [shape.items, `${path}[${index}]`]);
  if (typeof value !== "object" || value === null) return undefined;
  const missing = (shape.required ?? []).find((field) => !Object.hasOwn(value, field));
  if (missing !== undefined) return `${path}.${missing} is missing; it must be given`;
  return firstOf(Object.entries(value), (key) => [shapeOf(shape, key), below(path, key)]);
}

/** @param at the shape of a part, if it has one, and its path */
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

/** What it may be, when it is not that. */
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

/** What is said of what is nested too deep. */
export const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep; it must be at most ${MAX_DEPTH}`;

/** Whether it has more levels below it than anybody needs. Goes down level by level, so that nothing is too deep for it. */
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
