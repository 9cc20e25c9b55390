import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { customResourceDefinitions } from "#api/crd.ts";

// The pages for users name only fields that exist in v1beta1, the version that users write.

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

/** Kinds that have the field. Fields below `spec.podTemplate` are Kubernetes' own: they are not looked up. */
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

const PAGES = ["README.md", ...globSync("docs/*.md").sort()];

test("the README and the docs name more than 20 different fields", () => {
  const fields = PAGES.flatMap((file) => fieldsIn(readFileSync(file, "utf8")));
  expect(new Set(fields).size).toBeGreaterThan(20);
});

test("the README has at most 1,500 words", () => {
  expect(readFileSync("README.md", "utf8").split(/\s+/).length).toBeLessThanOrEqual(1_500);
});

test.each([...PAGES, ...globSync("docs/adr/*.md").sort()])("%s links to files that exist", (file) => {
  const text = readFileSync(file, "utf8");
  const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = ""]) =>
    join(dirname(file), target),
  );
  expect(targets.filter((target) => !existsSync(target))).toEqual([]);
});

test.each(PAGES)("%s names only fields that exist in a custom resource", (file) => {
  const fields = fieldsIn(readFileSync(file, "utf8"));
  expect(fields.filter((path) => kindsWith(path).length === 0)).toEqual([]);
});

test("a field that exists in no custom resource is detected", () => {
  expect(kindsWith("spec.storage.volumeClaimTemplate")).toEqual([]);
  expect(kindsWith("spec.storage.size")).toContain("EtcdCluster");
});
