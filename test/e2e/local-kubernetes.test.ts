import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { nodeAddresses } from "#dev/local/addresses.ts";

test.each([1, 2, 3])("node %i keeps its gateway's address when pods come and go: no pod loses its way", (node) => {
  const { bridge, gatewayMac } = nodeAddresses(node);
  expect(networkInterfaces()[bridge]?.[0]?.mac).toBe(gatewayMac);
});
