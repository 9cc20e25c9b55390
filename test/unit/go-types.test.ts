import { expect, test } from "vitest";
import { durationSchema, size } from "#api/common-schema.ts";
import { structural } from "#api/structural.ts";
import { type GoType, goType, goTypes } from "#kit/clients/go-types.ts";
import { KIND_SCHEMAS, type Schema } from "#kit/clients/kind-schemas.ts";

const text: Schema = { type: "string" };

test.each<[string, Schema, GoType]>([
  ["a text", text, { is: "string" }],
  ["a boolean", { type: "boolean" }, { is: "bool" }],
  ["an integer of unknown size", { type: "integer" }, { is: "int64" }],
  ["an integer of 32 bits", { type: "integer", format: "int32" }, { is: "int32" }],
  ["a number", { type: "number" }, { is: "float64" }],
  ["a time", { type: "string", format: "date-time" }, { is: "time" }],
  ["a duration", structural(durationSchema("1s", "1h")) as Schema, { is: "duration" }],
  ["a quantity", structural(size) as Schema, { is: "quantity" }],
  ["a number or text", { "x-kubernetes-int-or-string": true }, { is: "intOrString" }],
  ["a list", { type: "array", items: text }, { is: "list", of: { is: "string" } }],
  ["a map", { type: "object", additionalProperties: text }, { is: "map", of: { is: "string" } }],
  ["any value", { type: "object", "x-kubernetes-preserve-unknown-fields": true }, { is: "raw" }],
  [
    "a part of a pod",
    { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { containers: { type: "array" } } },
    { is: "podSpec" },
  ],
])("the Go type of %s", (_, schema, expected) => expect(goType(schema, "required")).toEqual(expected));

test("an optional field has omitempty, and a pointer if its type is a struct", () => {
  const inner: Schema = { type: "object", properties: { a: text } };
  const schema: Schema = { type: "object", properties: { a: text, b: text, c: inner, d: inner }, required: ["a", "c"] };
  const fields = (omitEmpty: "required" | "everywhere") => {
    const type = goType(schema, omitEmpty);
    const all = "fields" in type ? type.fields : [];
    return all.map(
      ({ name, omitEmpty: leaves, pointer }) => `${name}${leaves ? " omitempty" : ""}${pointer ? " *" : ""}`,
    );
  };
  expect(fields("required")).toEqual(["a", "b omitempty", "c", "d omitempty *"]);
  expect(fields("everywhere")).toEqual(["a omitempty", "b omitempty", "c omitempty", "d omitempty *"]);
});

test("every kind has a Go type with durations, quantities and times", () => {
  const types = goTypes("required");
  expect(Object.keys(types)).toEqual([...KIND_SCHEMAS.keys()]);
  const all = JSON.stringify(types);
  for (const is of ["duration", "quantity", "time", "podSpec", "metadata"]) expect(all).toContain(`{"is":"${is}"}`);
});

test("a schema without type has no Go type", () => {
  expect(() => goType({}, "required")).toThrow("no Go type is known for {}");
});
