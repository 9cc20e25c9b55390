import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { customResourceDefinitions } from "#api/crd.ts";

// What people read names fields that there are, in the version that they are told to write.

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const KINDS = (customResourceDefinitions("system") as unknown as readonly Definition[]).map(({ spec }) => ({
  kind: spec.names.kind,
  schema: spec.versions.find(({ name }) => name === "v1beta1")?.schema.openAPIV3Schema,
}));

/** Of whom the field is. What people say in a pod's own words is looked at no further. */
function kindsWith(path: string): readonly string[] {
  return KINDS.flatMap(({ kind, schema }) => {
    let at: Schema | undefined = schema;
    for (const part of path.split(".")) {
      if (at?.properties === undefined && at !== undefined && path.startsWith("spec.podTemplate.")) return [kind];
      at = at?.properties?.[part];
    }
    return at === undefined ? [] : [kind];
  });
}

function fieldsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/`(spec(?:\.[A-Za-z0-9]+)+)/g)].map(([, path = ""]) => path))];
}

test("the table of the README names fields of an EtcdCluster", () => {
  const readme = readFileSync("README.md", "utf8");
  const table = readme.slice(readme.indexOf("## Fields"), readme.indexOf("Status: conditions"));
  const rows = table.split("\n").filter((line) => line.startsWith("| `spec"));
  const fields = rows.flatMap((row) => fieldsIn(row.split("|")[1] ?? ""));
  expect(fields.length).toBeGreaterThan(20);
  expect(fields.filter((path) => !kindsWith(path).includes("EtcdCluster"))).toEqual([]);
});

test.each([
  "README.md",
  "docs/operating.md",
  "docs/limits.md",
  "docs/threat-model.md",
  "docs/glossary.md",
  "docs/object-stores.md",
])("%s names fields of some object of ours", (file) => {
  const fields = fieldsIn(readFileSync(file, "utf8"));
  expect(fields.filter((path) => kindsWith(path).length === 0)).toEqual([]);
});

test("what has been named and is not there is found", () => {
  expect(kindsWith("spec.storage.volumeClaimTemplate")).toEqual([]);
  expect(kindsWith("spec.storage.size")).toContain("EtcdCluster");
});
