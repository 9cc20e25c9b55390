import { expect, test } from "vitest";
import { z } from "zod";
import { ATOMIC } from "#api/common-schema.ts";
import { customResourceDefinitions } from "#api/crd.ts";
import { type JsonSchema, structural, withoutDescriptions } from "#api/structural.ts";

const rule = [{ rule: "self > 0", message: "it must be more than 0" }];
const cases: { name: string; given: z.ZodType; expect: object }[] = [
  {
    name: "bounds, defaults and descriptions",
    given: z.number().int().min(1).max(7).default(3).describe("How many."),
    expect: { type: "integer", format: "int32", minimum: 1, maximum: 7, default: 3, description: "How many." },
  },
  { name: "no bounds where there are none", given: z.number().int(), expect: { type: "integer", format: "int64" } },
  {
    name: "the size of integers, by their maximum or their name",
    given: z.object({
      small: z.number().int().max(2_147_483_647),
      large: z.number().int().max(2_147_483_648),
      runs: z.number().int(),
      observedGeneration: z.number().int(),
    }),
    expect: {
      type: "object",
      required: ["small", "large", "runs", "observedGeneration"],
      properties: {
        small: { type: "integer", format: "int32", maximum: 2_147_483_647 },
        large: { type: "integer", format: "int64", maximum: 2_147_483_648 },
        runs: { type: "integer", format: "int32" },
        observedGeneration: { type: "integer", format: "int64" },
      },
    },
  },
  {
    name: "a choice of strings",
    given: z.enum(["New", "Existing"]),
    expect: { type: "string", enum: ["New", "Existing"] },
  },
  {
    name: "required fields",
    given: z.object({ a: z.string(), b: z.string().optional(), c: z.string().default("x") }),
    expect: {
      type: "object",
      required: ["a"],
      properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "string", default: "x" } },
    },
  },
  {
    name: "lists",
    given: z.array(z.string()).min(1).max(2).meta(ATOMIC),
    expect: {
      type: "array",
      items: { type: "string" },
      minItems: 1,
      maxItems: 2,
      "x-kubernetes-list-type": "atomic",
    },
  },
  {
    name: "maps",
    given: z.record(z.string(), z.string()).meta({ maxProperties: 64 }),
    expect: { type: "object", additionalProperties: { type: "string" }, maxProperties: 64 },
  },
  {
    name: "objects with arbitrary contents",
    given: z.looseObject({}),
    expect: { type: "object", properties: {}, "x-kubernetes-preserve-unknown-fields": true },
  },
  {
    name: "rules and list types of Kubernetes",
    given: z.array(z.string()).meta({ "x-kubernetes-list-type": "set", "x-kubernetes-validations": rule }),
    expect: {
      type: "array",
      items: { type: "string" },
      "x-kubernetes-list-type": "set",
      "x-kubernetes-validations": rule,
    },
  },
  {
    name: "quantities, with their rules",
    given: z
      .union([z.number().int(), z.string().max(32)])
      .meta({ intOrString: true, "x-kubernetes-validations": rule })
      .default("8Gi")
      .describe("Size."),
    expect: {
      "x-kubernetes-int-or-string": true,
      anyOf: [{ type: "integer" }, { type: "string" }],
      maxLength: 32,
      "x-kubernetes-validations": rule,
      default: "8Gi",
      description: "Size.",
    },
  },
];
for (const { name, given, expect: wanted } of cases) {
  test(`a structural schema keeps ${name}`, () => expect(structural(given)).toEqual(wanted));
}

const refused: { name: string; given: z.ZodType; says: string }[] = [
  { name: "a choice of types", given: z.object({ a: z.union([z.string(), z.number()]) }), says: ".a: anyOf" },
  {
    name: "a choice of types, deep inside",
    given: z.object({ a: z.array(z.object({ b: z.union([z.string(), z.number()]) })).meta(ATOMIC) }),
    says: ".a[].b: anyOf",
  },
  {
    name: "a list without a type of list",
    given: z.object({ a: z.record(z.string(), z.object({ b: z.array(z.string()) })) }),
    says: ".a.*.b: no x-kubernetes-list-type; it must be ATOMIC, SET or mapBy()",
  },
  { name: "a value of any type", given: z.object({ a: z.any() }), says: ".a: no type" },
];
for (const { name, given, says } of refused) {
  test(`${name} has no structural schema, and the error has its path`, () =>
    expect(() => structural(given)).toThrow(says));
}

test("every field of the CustomResourceDefinitions has a type", () => {
  const untyped: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [name, child] of Object.entries((node as { properties?: object }).properties ?? {})) {
      const schema = child as Record<string, unknown>;
      if (schema.type === undefined && schema["x-kubernetes-int-or-string"] !== true) untyped.push(`${path}.${name}`);
      walk(child, `${path}.${name}`);
    }
  };
  for (const definition of customResourceDefinitions("foo") as unknown as Definition[])
    walk(definition.spec.versions[0]?.schema.openAPIV3Schema, definition.metadata.name);
  expect(untyped).toEqual([]);
});

test("withoutDescriptions removes descriptions at every level, and keeps a field of that name", () => {
  const schema = z.object({
    description: z.string().describe("A field."),
    list: z.array(z.object({ a: z.string().describe("A part.") })).meta(ATOMIC),
    map: z.record(z.string(), z.string().describe("A value.")).describe("A map."),
  });
  expect(withoutDescriptions(structural(schema.describe("All.")))).toEqual(
    structural(
      z.object({
        description: z.string(),
        list: z.array(z.object({ a: z.string() })).meta(ATOMIC),
        map: z.record(z.string(), z.string()),
      }),
    ),
  );
});

test("the status has descriptions in the stored version only, and the same fields in each", () => {
  for (const { spec } of customResourceDefinitions("foo") as unknown as Definition[]) {
    const statusOf = ({ schema }: (typeof spec.versions)[number]) => schema.openAPIV3Schema.properties.status;
    const [stored] = spec.versions.filter(({ storage }) => storage).map(statusOf);
    expect(JSON.stringify(stored)).toContain('"description"');
    for (const status of spec.versions.filter(({ storage }) => !storage).map(statusOf))
      expect(status).toEqual({ ...withoutDescriptions(stored!), description: "As in v1beta1, which describes it." });
  }
});

test("no kind is in the category all, so that `kubectl delete all --all` deletes none of its objects", () => {
  for (const { spec } of customResourceDefinitions("foo") as unknown as Definition[])
    expect(spec.names.categories ?? []).not.toContain("all");
});

interface Definition {
  metadata: { name: string };
  spec: {
    names: { categories?: string[] };
    versions: { storage: boolean; schema: { openAPIV3Schema: { properties: { status: JsonSchema } } } }[];
  };
}
