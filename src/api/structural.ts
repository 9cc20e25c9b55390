import { z } from "zod";

/** JSON Schema as plain data, from zod or for Kubernetes. */
export interface JsonSchema {
  [key: string]: unknown;
}

// What is a structural schema, and why is a rewrite needed?
//   Kubernetes requires OpenAPI v3 schemas in which every value has exactly one `type`, in its own schema
//   (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
//   zod writes general JSON Schema. Constructs with a structural equivalent are rewritten. Any other is an error with
//   its path, at generation time.

/** CEL rules (https://kubernetes.io/docs/reference/using-api/cel/). */
const VALIDATIONS = "x-kubernetes-validations";
/** Required of every list: without it clients and server-side apply replace the list silently. */
const LIST_TYPE = "x-kubernetes-list-type";
const UNUSED = new Set([
  "$schema",
  "additionalProperties",
  "propertyNames",
  "anyOf",
  "allOf",
  "oneOf",
  "intOrString",
  "id",
]);
const ALLOWED = new Set([
  "type", "description", "properties", "required", "items", "enum", "default", "format", "pattern",
  "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "nullable",
]); // biome-ignore format: a list of words

/**
 * Structural OpenAPI schema of a zod schema, for a CustomResourceDefinition.
 * @throws Error naming the path when the schema has no structural form (unions, tuples, intersections)
 */
export function structural(schema: z.ZodType): JsonSchema {
  const json = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", unrepresentable: "throw" });
  return rewrite(json as JsonSchema, "");
}

/** The schema without any description. Every version repeats the schema, and texts are most of it. */
export function withoutDescriptions(node: JsonSchema): JsonSchema {
  const { description: _, properties, items, additionalProperties, ...rest } = node;
  return {
    ...rest,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, JsonSchema>).map(([name, child]) => [
          name,
          withoutDescriptions(child),
        ]),
      ),
    }),
    ...(items !== undefined && { items: withoutDescriptions(items as JsonSchema) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: withoutDescriptions(additionalProperties as JsonSchema),
    }),
  };
}

function rewrite(node: JsonSchema, path: string): JsonSchema {
  if (node.intOrString === true) return intOrString(node);
  for (const union of ["anyOf", "allOf", "oneOf"]) {
    if (union in node) throw new Error(`${path || "(root)"}: ${union} has no structural form`);
  }
  if (typeof node.type !== "string") throw new Error(`${path || "(root)"}: no type`);
  if (node.type === "array" && !(LIST_TYPE in node))
    throw new Error(`${path || "(root)"}: no ${LIST_TYPE}; it must be ATOMIC, SET or mapBy() of common-schema.ts`);
  const result: JsonSchema = {};
  for (const [key, value] of Object.entries(node)) {
    if (UNUSED.has(key)) continue;
    if (!ALLOWED.has(key) && !key.startsWith("x-kubernetes-"))
      throw new Error(`${path}: ${key} has no structural form`);
    // zod limits every integer to the safe range of a double; Kubernetes has 64-bit integers.
    if ((key === "minimum" || key === "maximum") && Math.abs(value as number) === Number.MAX_SAFE_INTEGER) continue;
    result[key] = value;
  }
  if (node.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(node.properties as Record<string, JsonSchema>).map(([name, child]) => [
        name,
        rewrite(child, `${path}.${name}`),
      ]),
    );
  }
  if (node.items !== undefined) result.items = rewrite(node.items as JsonSchema, `${path}[]`);
  if (node.type === "integer") result.format = formatOf(node, path);
  return withExtraProperties(result, node.additionalProperties, path);
}

/** The fields without a maximum that count objects. Every other one may exceed 32 bits, such as bytes and generations. */
const COUNTS = new Set(["replicas", "readyReplicas", "count", "runs", "gaps", "objects", "more"]);
const MAX_INT32 = 2 ** 31 - 1;

/** Size of an integer, from which generators of clients choose a type. */
function formatOf({ maximum = Number.MAX_SAFE_INTEGER }: JsonSchema, path: string): "int32" | "int64" {
  const isSmall = (maximum as number) <= MAX_INT32 || COUNTS.has(path.split(".").at(-1) ?? "");
  return isSmall ? "int32" : "int64";
}

/** Adds the value schema of a map, or keeps unknown fields of a loose object. Other objects need neither. */
function withExtraProperties(result: JsonSchema, extra: unknown, path: string): JsonSchema {
  if (extra === undefined || extra === false || result.type !== "object") return result;
  if (extra === true || Object.keys(extra as object).length === 0)
    return { ...result, "x-kubernetes-preserve-unknown-fields": true };
  return { ...result, additionalProperties: rewrite(extra as JsonSchema, `${path}.*`) };
}

function intOrString(node: JsonSchema): JsonSchema {
  const text = (node.anyOf as JsonSchema[]).find((branch) => branch.type === "string");
  return {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
    ...(text?.pattern === undefined ? {} : { pattern: text.pattern }),
    ...(text?.maxLength === undefined ? {} : { maxLength: text.maxLength }),
    ...(node[VALIDATIONS] === undefined ? {} : { [VALIDATIONS]: node[VALIDATIONS] }),
    ...(node.description === undefined ? {} : { description: node.description }),
    ...(node.default === undefined ? {} : { default: node.default }),
  };
}
