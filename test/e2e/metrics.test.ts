import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace } from "#kit/e2e/e2e.ts";
import { accountIn, askMetrics, lettingRead, operatorPods } from "#kit/e2e/operator-metrics.ts";

// Metrics of the installed operator, read by a namespace's service account.

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let token: string;

beforeAll(async () => {
  namespace = await testNamespace("metrics");
  token = await accountIn(namespace.name);
});
afterAll(async () => await namespace[Symbol.asyncDispose]());

test("every replica of the operator serves metrics only to accounts with the right to read them", async () => {
  const pods = await operatorPods();
  expect(pods.length).toBeGreaterThan(0);
  for (const pod of pods) {
    expect((await askMetrics(pod)).status).toBe(401);
    expect(await askMetrics(pod, token)).toEqual({
      status: 403,
      text: `system:serviceaccount:${namespace.name}:prometheus may not get the path /metrics\n`,
    });
    expect((await fetch(`http://${pod.status?.podIP}:8080/metrics`)).status).toBe(404);
  }
  await using _ = await lettingRead(namespace.name);
  for (const pod of pods)
    await eventually(async () => {
      const { status, text } = await askMetrics(pod, token);
      expect(status).toBe(200);
      expect(text).toContain("etcd_operator_leading");
    }, 30_000);
});
