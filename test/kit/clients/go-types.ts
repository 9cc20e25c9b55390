import { isDuration, isQuantity, KIND_SCHEMAS, type Schema } from "./kind-schemas.ts";

// Which Go types would an author write for these schemas?
//   Those of kubebuilder: a required field has no `omitempty`, an optional one has it. An optional field is a pointer if
//   its type is a struct in Go. No other field is a pointer.

/** A Go type, as dev/go/typed-client/types.go reads it. */
export type GoType =
  | { readonly is: "struct"; readonly fields: readonly GoField[] }
  | { readonly is: "list" | "map"; readonly of: GoType }
  | { readonly is: GoScalar };

type GoScalar =
  | "bool"
  | "duration"
  | "float64"
  | "int32"
  | "int64"
  | "intOrString"
  | "metadata"
  | "podSpec"
  | "quantity"
  | "raw"
  | "string"
  | "time";

export interface GoField {
  readonly name: string;
  readonly type: GoType;
  readonly omitEmpty: boolean;
  readonly pointer: boolean;
}

/** `required`: by kubebuilder's habit. `everywhere`: required fields have `omitempty`, too. */
export type OmitEmpty = "required" | "everywhere";

/** Go types that are structs: `omitempty` does not leave out their zero value. */
const STRUCTS: readonly GoType["is"][] = [
  "struct",
  "duration",
  "intOrString",
  "metadata",
  "podSpec",
  "quantity",
  "time",
];

/** Go type of every kind of v1beta1. */
export function goTypes(omitEmpty: OmitEmpty): Readonly<Record<string, GoType>> {
  return Object.fromEntries([...KIND_SCHEMAS].map(([kind, { schema }]) => [kind, wholeObject(schema, omitEmpty)]));
}

function wholeObject(schema: Schema, omitEmpty: OmitEmpty): GoType {
  const { fields } = struct(schema, omitEmpty);
  const metadata: GoField = { name: "metadata", type: { is: "metadata" }, omitEmpty: true, pointer: false };
  return { is: "struct", fields: fields.map((each) => (each.name === "metadata" ? metadata : each)) };
}

/** Go type of a schema. */
export function goType(schema: Schema, omitEmpty: OmitEmpty): GoType {
  if (isQuantity(schema)) return { is: "quantity" };
  if (schema["x-kubernetes-int-or-string"] === true) return { is: "intOrString" };
  switch (schema.type) {
    case "object":
      return objectType(schema, omitEmpty);
    case "array":
      return { is: "list", of: goType(schema.items ?? {}, omitEmpty) };
    case "string":
      return { is: isDuration(schema) ? "duration" : schema.format === "date-time" ? "time" : "string" };
    case "boolean":
      return { is: "bool" };
    case "integer":
      return { is: schema.format === "int32" ? "int32" : "int64" };
    case "number":
      return { is: "float64" };
  }
  throw new Error(`no Go type is known for ${JSON.stringify(schema).slice(0, 200)}`);
}

function objectType(schema: Schema, omitEmpty: OmitEmpty): GoType {
  const { properties, additionalProperties } = schema;
  if (additionalProperties !== undefined) return { is: "map", of: goType(additionalProperties, omitEmpty) };
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) {
    if (properties?.containers !== undefined) return { is: "podSpec" };
    if (Object.keys(properties ?? {}).length === 0) return { is: "raw" };
  }
  return struct(schema, omitEmpty);
}

function struct({ properties = {}, required = [] }: Schema, omitEmpty: OmitEmpty) {
  const fields = Object.entries(properties).map(([name, schema]): GoField => {
    const type = goType(schema, omitEmpty);
    const isOptional = !required.includes(name);
    return {
      name,
      type,
      omitEmpty: isOptional || omitEmpty === "everywhere",
      pointer: isOptional && STRUCTS.includes(type.is),
    };
  });
  return { is: "struct" as const, fields };
}
