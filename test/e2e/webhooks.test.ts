import { expect, test } from "vitest";
import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { eventually, kubectl, testNamespace } from "#kit/e2e.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// What test/apiserver/webhooks.test.ts cannot have: a Service that leads to pods, and pods that come and go.

const GOOD = { resources: { requests: { cpu: "100m", memory: "2Gi" } } };

/** Asks as a person with kubectl would, and makes nothing. */
async function apply(namespace: string, spec: object): Promise<{ code: number; said: string }> {
  const metadata = { name: "my-etcd", namespace };
  const input = JSON.stringify({ apiVersion: "etcd.improbable.io/v1alpha1", kind: "EtcdCluster", metadata, spec });
  const { code, stderr } = await kubectl.run(["create", "--dry-run=server", "-f", "-"], { input, mayFail: true });
  return { code, said: stderr };
}

const EVEN = "Warning: spec.replicas is 2: it stands the loss of no more members than 1 would";

test("kubectl shows what is refused, and what is unwise", async () => {
  await using namespace = await testNamespace("webhooks");
  await eventually(async () =>
    expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN),
  );
  const refused = await apply(namespace.name, { replicas: 3, podTemplate: { ...GOOD, affinity: { nodeAfinity: {} } } });
  expect(refused.code).toBe(1);
  expect(refused.said).toContain(
    'The EtcdCluster "my-etcd" is invalid: spec.podTemplate.affinity.nodeAfinity: unknown field; a Pod has none of this name',
  );
  expect(await apply(namespace.name, { replicas: 3, podTemplate: GOOD })).toEqual({ code: 0, said: "" });
});

test("no edit goes unchecked while every replica of the operator is replaced by another one", async () => {
  await using namespace = await testNamespace("webhooks");
  const deployment = [`deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE];
  await kubectl.run(["rollout", "restart", ...deployment]);
  const rollout = kubectl.run(["rollout", "status", ...deployment, "--timeout=120s"]);
  let isOver = false;
  const ended = rollout.finally(() => {
    isOver = true;
  });
  const unchecked: string[] = [];
  let checked = 0;
  while (!isOver) {
    const { said } = await apply(namespace.name, { replicas: 2, podTemplate: GOOD });
    if (said.includes(EVEN)) checked++;
    else unchecked.push(said);
  }
  await ended;
  expect(unchecked).toEqual([]);
  expect(checked).toBeGreaterThan(5);
});

test("who deletes the Secret gets another one, and edits are checked all the while", async () => {
  await using namespace = await testNamespace("webhooks");
  const secret = ["secret", WEBHOOKS, "-n", OPERATOR_NAMESPACE];
  const before = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
  await kubectl.run(["delete", ...secret]);
  // Nobody looks before minutes have passed, but for whoever starts.
  await kubectl.run(["rollout", "restart", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE]);
  await eventually(async () => {
    expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN);
    const after = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
  });
  await kubectl.run(["rollout", "status", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE, "--timeout=120s"]);
  expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN);
});
