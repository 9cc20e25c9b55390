import { customResourceDefinitions } from "#api/crd.ts";
import type { AnyResource } from "#kube/kinds.ts";

/** Keywords of a structural schema that tests read. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string }[];
  readonly "x-kubernetes-list-type"?: "atomic" | "map" | "set";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** A kind with the schema of the whole object. */
export interface KindSchema {
  readonly resource: AnyResource;
  readonly schema: Schema;
}

/** Every kind of v1beta1, by its name. */
export const KIND_SCHEMAS: ReadonlyMap<string, KindSchema> = new Map(
  (customResourceDefinitions("any") as unknown as readonly Definition[]).flatMap(
    ({ spec: { group, names, versions } }) =>
      versions
        .filter(({ name }) => name === "v1beta1")
        .map(({ name: version, schema }) => {
          const { kind, plural } = names;
          const resource = { group, version, kind, plural, namespaced: true };
          return [kind, { resource, schema: schema.openAPIV3Schema }] as const;
        }),
  ),
);

/** Schema of the spec of a kind. */
export function specSchema(kind: string): Schema {
  const schema = known(kind).schema.properties?.spec;
  if (schema === undefined) throw new Error(`${kind} has no schema of a spec`);
  return schema;
}

export function resourceOf(kind: string): AnyResource {
  return known(kind).resource;
}

function known(kind: string): KindSchema {
  const found = KIND_SCHEMAS.get(kind);
  if (found === undefined) throw new Error(`${kind} is none of our kinds`);
  return found;
}

/** Whether the value is a quantity of Kubernetes, such as `8Gi`. */
export function isQuantity(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true && hasRule(schema, "isQuantity(");
}

/** Whether the value is a duration of Go, such as `1h30m`. */
export function isDuration(schema: Schema): boolean {
  return schema.type === "string" && (schema.format === "duration" || hasRule(schema, "duration(self)"));
}

function hasRule(schema: Schema, part: string): boolean {
  return schema["x-kubernetes-validations"]?.some(({ rule }) => rule.includes(part)) === true;
}
