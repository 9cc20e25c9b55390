import fc from "fast-check";
import { expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import { planStatus } from "#cluster/forecast/plan-status.ts";
import { cluster } from "#kit/cluster.ts";

test("status.plan: whatever edit is asked for is answered", () => {
  const fields = [
    "replicas",
    "version",
    "podTemplate",
    "etcd",
    "image",
    "updateStrategy",
    "clientService",
    "replacement",
  ];
  const words = [
    "metadata",
    "spec",
    "containers",
    "name",
    "etcd",
    "extraArgs",
    "type",
    "after",
    "resources",
    "limits",
    "labels",
  ];
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, 1, 4, "3.7.3", "etcd", "1m", "x", "", true),
      fc.array(tie("value"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 4 }),
    ),
  }));
  const patch = fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 3 });
  let explained = 0;
  fc.assert(
    fc.property(patch, (edit) => {
      const plan = planStatus(cluster({ annotations: { [DRY_RUN_ANNOTATION]: JSON.stringify(edit) } }));
      if (plan?.outcome === "Done") explained++;
      expect(plan?.message).not.toBe("");
    }),
    { numRuns: 100 },
  );
  expect(explained).toBeGreaterThan(10);
});
