import { cluster } from "#kit/cluster.ts";
import { testPlans } from "#kit/cluster-plan.ts";

// What is done about spec.version.

testPlans("version", [
  {
    name: "goes on while another version is asked for",
    given: cluster({ spec: { version: "3.7.3" } }),
    expect: "settled",
  },
]);
