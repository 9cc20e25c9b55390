import { expect, test } from "vitest";
import { nodeAddresses } from "./addresses.ts";
import { hairpinRules } from "./network.ts";

test("network: the hairpin rules contain every possible pod address and no gateway address", () => {
  const rules = hairpinRules(3);
  const pairs = [...rules.matchAll(/([\d.]+) \. ([\d.]+)/g)].map(([, from, to]) => [from, to] as const);
  expect(pairs.every(([from, to]) => from === to)).toBe(true);
  expect(pairs).toHaveLength(3 * 253);
  for (const address of ["10.88.1.2", "10.88.2.254", "10.88.3.3"]) expect(pairs).toContainEqual([address, address]);
  for (const node of [1, 2, 3]) expect(rules).not.toContain(`${nodeAddresses(node).gateway} . `);
});
