import { expect, test } from "vitest";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { restoreSpecSchema } from "#api/v1beta1/restore-schema.ts";

/** CEL rules of a schema. */
function rulesOf(schema: { meta(): unknown }): readonly string[] {
  const { "x-kubernetes-validations": rules = [] } = schema.meta() as {
    "x-kubernetes-validations"?: readonly { readonly rule: string }[];
  };
  return rules.map(({ rule }) => rule);
}

test("clusterTemplate.spec has the rules of an EtcdCluster's spec, without those on updates and on bootstrap", () => {
  const apply = rulesOf(clusterSpecSchema).filter((rule) => !/oldSelf|self[.][?]?bootstrap/.test(rule));
  expect(apply).not.toEqual([]);
  expect(rulesOf(restoreSpecSchema.shape.clusterTemplate.shape.spec)).toEqual(apply);
});
