import { expect, test } from "vitest";
import { nodeAddresses } from "#dev/local/addresses.ts";
import { run } from "#dev/run.ts";
import { eventually, kubectl, testNamespace } from "#kit/e2e/e2e.ts";
import { connecting, IDLE, idlePod, processIn } from "#kit/pods/idle-pod.ts";

test.each([1, 2, 3])(
  "the gateway of node %i has a fixed MAC address, so pods keep their route when others are deleted",
  async (node) => {
    const { bridge, gatewayMac } = nodeAddresses(node);
    const { stdout } = await run("ip", ["-json", "link", "show", "dev", bridge]); // also on a node without any pod
    expect(JSON.parse(stdout)).toMatchObject([{ address: gatewayMac }]);
  },
);

test("a pod that reaches itself through a Service gets an answer on every node", async () => {
  await using namespace = await testNamespace("hairpin");
  const port = 3379;
  const command = IDLE.map((each) => each.replace("-client-urls=http://127.0.0.1", "-client-urls=http://0.0.0.0"));
  for (const node of [1, 2, 3]) {
    const name = `itself-${node}`;
    const pod = idlePod(name, { app: name }, namespace.name);
    const [container] = pod.spec.containers;
    const spec = { ...pod.spec, nodeName: `node-${node}`, containers: [{ ...container, command }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { selector: { app: name }, ports: [{ port }] } }; // biome-ignore format: one line
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: [{ ...pod, spec }, service] });
    await kubectl.run(["-n", namespace.name, "apply", "-f", "-"], { input });
  }
  for (const node of [1, 2, 3]) {
    const name = `itself-${node}`;
    await kubectl.run(["-n", namespace.name, "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=90s"]);
    const { spec } = await kubectl.json<{ spec: { clusterIP: string } }>([
      "-n",
      namespace.name,
      "get",
      "service",
      name,
    ]);
    const pid = await processIn(name, namespace.name);
    await eventually(async () => expect(await connecting(pid, spec.clusterIP, port)).toBe("open"), 30_000);
  }
});
