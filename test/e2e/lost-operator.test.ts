import { expect, test } from "vitest";
import { eventually, node, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { operatorNode, operatorPods } from "#kit/e2e/loaded-cluster.ts";
import type { Service } from "#kube/kinds.ts";
import { OPERATOR_REPLICAS } from "../../scripts/manifests.ts";

// The deployed operators, as users run them: one is the leader, the other one stands by on another node.

/** Promised from the loss of the leader's node to the first action of the other replica. */
const ACTS_WITHIN_MS = 30_000;
/**
 * 20 s until Kubernetes marks a silent node as lost (50 s elsewhere), 10 s more, then a new pod starts on another node.
 */
const WHOLE_WITHIN_MS = 90_000;

test("when the node of the leading operator loses power, the other replica acts within 30 s", async () => {
  await using namespace = await testNamespace("lost-operator");
  const cluster = new UserCluster(namespace.name);
  const lost = await operatorNode();
  await eventually(async () => expect(new Set(await nodesOfOperators()).size).toBe(OPERATOR_REPLICAS));
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "NotIn", values: [lost] }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  await cluster.create({ replicas: 1, podTemplate: { spec: { affinity } } });
  await cluster.untilReady();
  expect(await operatorNode()).toBe(lost);
  const selector = async () => (await cluster.json<Service>("get", "service", "my-etcd-client")).spec?.selector;
  const before = await selector();

  const number = Number(lost.replace("node-", ""));
  const startedAtMs = performance.now();
  try {
    await node("stop", number);
    // A wrong selector misdirects clients; the operator corrects it.
    const astray = JSON.stringify({ spec: { selector: { "app.kubernetes.io/name": "astray" } } });
    await cluster.kubectl("patch", "service", "my-etcd-client", "--type=merge", "-p", astray);
    await eventually(async () => expect(await selector()).toEqual(before), ACTS_WITHIN_MS);
    const actsAfterMs = performance.now() - startedAtMs;
    expect(actsAfterMs).toBeLessThan(ACTS_WITHIN_MS);
    expect(await operatorNode()).not.toBe(lost);

    await eventually(async () => {
      const nodes = await nodesOfOperators();
      expect(nodes).toHaveLength(OPERATOR_REPLICAS);
      expect(nodes).not.toContain(lost);
    }, WHOLE_WITHIN_MS);
    const wholeAfterMs = performance.now() - startedAtMs;
    console.log(
      `lost node: another operator acts after ${Math.round(actsAfterMs)} ms, two run after ${Math.round(wholeAfterMs)} ms`,
    );
  } finally {
    await node("start", number);
  }
});

/** The nodes of the operator's ready pods. */
async function nodesOfOperators(): Promise<readonly string[]> {
  const isReady = ({ type, status }: { type: string; status: string }) => type === "Ready" && status === "True";
  const ready = (await operatorPods()).filter(({ status }) => status?.conditions?.some(isReady));
  return ready.map(({ spec }) => spec.nodeName);
}
