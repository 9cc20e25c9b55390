import { expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { eventually, kubectl, testNamespace } from "#kit/e2e/e2e.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// What test/apiserver/webhooks.test.ts cannot cover: a Service that routes to pods, and pods that start and stop.

/** Enough for two pods to start and two to end, one after another, on a busy machine. */
const REPLACED_WITHIN_MS = 120_000;
/** Enough to reach both replicas. */
const EDITS_IN_A_ROW = 10;
/** A released lease is taken in a second or two; a new process polls for it every five. */
const CHECKED_AGAIN_WITHIN_MS = 30_000;
const GOOD = withResources({ requests: { cpu: "100m", memory: "2Gi" } });

/** Creates the cluster as a dry run, as a person with kubectl would. */
async function apply(namespace: string, asked: object): Promise<{ code: number; said: string }> {
  const metadata = { name: "my-etcd", namespace };
  const etcd = { autoCompaction: { mode: "None" } };
  const spec = { version: DEFAULT_VERSION, etcd, ...asked };
  const input = JSON.stringify({ apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata, spec });
  const { code, stderr } = await kubectl.run(["create", "--dry-run=server", "-f", "-"], { input, mayFail: true });
  return { code, said: stderr };
}

const EVEN = "Warning: spec.replicas is 2: it tolerates the loss of no more members than 1";

test("kubectl prints errors and warnings of the webhook", async () => {
  await using namespace = await testNamespace("webhooks");
  await eventually(async () =>
    expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN),
  );
  const refused = await apply(namespace.name, {
    replicas: 3,
    podTemplate: { spec: { ...GOOD.spec, affinity: { nodeAfinity: {} } } },
  });
  expect(refused.code).toBe(1);
  expect(refused.said).toContain(
    'The EtcdCluster "my-etcd" is invalid: spec.podTemplate.spec.affinity.nodeAfinity: unknown field; a Pod has none of this name',
  );
  expect(await apply(namespace.name, { replicas: 3, podTemplate: GOOD })).toEqual({ code: 0, said: "" });
});

/** Names of the operator's pods, terminating ones included. */
async function podNames(): Promise<readonly string[]> {
  const selector = ["-n", OPERATOR_NAMESPACE, "-l", `app.kubernetes.io/name=${OPERATOR}`];
  const { items } = await kubectl.json<{ items: { metadata: { name: string } }[] }>(["get", "pods", ...selector]);
  return items.map(({ metadata }) => metadata.name);
}

/**
 * Waits until none of these pods is left. A rollout ignores terminating pods, but calls may still be routed to them.
 */
async function replaced(before: readonly string[]): Promise<void> {
  const timeout = `--timeout=${REPLACED_WITHIN_MS / 1_000}s`;
  await kubectl.run(["rollout", "status", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE, timeout]);
  const old = async () => (await podNames()).filter((name) => before.includes(name));
  await eventually(async () => expect(await old()).toEqual([]), REPLACED_WITHIN_MS);
}

test("the webhook checks every edit while all replicas of the operator are replaced", async () => {
  await using namespace = await testNamespace("webhooks");
  const deployment = [`deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE];
  const before = await podNames();
  await kubectl.run(["rollout", "restart", ...deployment]);
  let isOver = false;
  const ended = replaced(before).finally(() => {
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
  console.log(`${checked} edits were checked during the rollout`);
  expect(checked).toBeGreaterThan(5);
});

test("a deleted webhook Secret is recreated, and the webhook checks edits again", async () => {
  await using namespace = await testNamespace("webhooks");
  const pods = await podNames();
  const secret = ["secret", WEBHOOKS, "-n", OPERATOR_NAMESPACE];
  const before = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
  await kubectl.run(["delete", ...secret]);
  // A running operator checks the Secret only every few minutes, but a starting one does at once.
  await kubectl.run(["rollout", "restart", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE]);
  await eventually(async () => {
    expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN);
    const after = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
  }, REPLACED_WITHIN_MS);
  // The old pods still serve a certificate of the deleted Secret, which the API server no longer trusts.
  await replaced(pods);
  // The leader writes the new CA bundle wherever it was missing; then each replica serves the new certificate.
  const checked = async () => (await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said.includes(EVEN);
  const since = performance.now();
  await eventually(async () => {
    for (let edit = 0; edit < EDITS_IN_A_ROW; edit++) expect(await checked(), `edit ${edit}`).toBe(true);
  }, CHECKED_AGAIN_WITHIN_MS);
  console.log(
    `every edit is checked ${Math.round(performance.now() - since)} ms after the last of the old ones was gone`,
  );
});
