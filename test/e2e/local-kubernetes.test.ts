import { expect, test } from "vitest";
import { nodeAddresses } from "#dev/local/addresses.ts";
import { run } from "#dev/run.ts";

test.each([1, 2, 3])(
  "node %i keeps its gateway's address when pods come and go: no pod loses its way",
  async (node) => {
    const { bridge, gatewayMac } = nodeAddresses(node);
    const { stdout } = await run("ip", ["-json", "link", "show", "dev", bridge]); // also of a node that has no pod at all
    expect(JSON.parse(stdout)).toMatchObject([{ address: gatewayMac }]);
  },
);
