import { z } from "zod";

/** A JSON Schema as zod writes it or as Kubernetes takes it: nested plain data. */
export interface JsonSchema {
  [key: string]: unknown;
}

// What is a structural schema, and why rewrite?
//   Kubernetes takes OpenAPI v3 schemas in which every value has one `type`, stated once, at its place
//   (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
//   zod writes general JSON Schema. What has a structural counterpart is rewritten here; all else is refused with its path,
//   at generation time, so that no schema reaches an API server half understood.

/** Rules in CEL (https://kubernetes.io/docs/reference/using-api/cel/). */
const VALIDATIONS = "x-kubernetes-validations";
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
 * The structural OpenAPI schema of a zod schema, as it stands in a CustomResourceDefinition.
 * @throws Error naming the path when the schema has no structural form (unions, tuples, intersections)
 */
export function structural(schema: z.ZodType): JsonSchema {
  const json = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", unrepresentable: "throw" });
  return rewrite(json as JsonSchema, "");
}

function rewrite(node: JsonSchema, path: string): JsonSchema {
  if (node.intOrString === true) return intOrString(node);
  for (const union of ["anyOf", "allOf", "oneOf"]) {
    if (union in node) throw new Error(`${path || "(root)"}: ${union} has no structural form`);
  }
  if (typeof node.type !== "string") throw new Error(`${path || "(root)"}: no type`);
  const result: JsonSchema = {};
  for (const [key, value] of Object.entries(node)) {
    if (UNUSED.has(key)) continue;
    if (!ALLOWED.has(key) && !key.startsWith("x-kubernetes-"))
      throw new Error(`${path}: ${key} has no structural form`);
    // zod bounds every integer by what a double can hold; Kubernetes knows integers.
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
  return withExtraProperties(result, node.additionalProperties, path);
}

/** Maps keep their value schema; loose objects keep whatever they hold; plain objects need neither. */
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
