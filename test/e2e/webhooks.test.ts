import { expect, test } from "vitest";
import { OPERATOR, WEBHOOKS } from "#api/names.ts";
import { eventually, kubectl, testNamespace } from "#kit/e2e.ts";
import { withResources } from "#kit/pod-template.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// What test/apiserver/webhooks.test.ts cannot have: a Service that leads to pods, and pods that come and go.

/** Two pods start, and two end, one after another, on a busy machine. */
const REPLACED_WITHIN_MS = 120_000;
/** Enough to reach both replicas. */
const EDITS_IN_A_ROW = 10;
/** A lease that was let go of is taken in a second or two, and who has just started looks every five. */
const CHECKED_AGAIN_WITHIN_MS = 30_000;
const GOOD = withResources({ requests: { cpu: "100m", memory: "2Gi" } });

/** Asks as a person with kubectl would, and makes nothing. */
async function apply(namespace: string, spec: object): Promise<{ code: number; said: string }> {
  const metadata = { name: "my-etcd", namespace };
  const input = JSON.stringify({ apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata, spec });
  const { code, stderr } = await kubectl.run(["create", "--dry-run=server", "-f", "-"], { input, mayFail: true });
  return { code, said: stderr };
}

const EVEN = "Warning: spec.replicas is 2: it stands the loss of no more members than 1 would";

test("kubectl shows what is refused, and what is unwise", async () => {
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

/** Names of the operator's pods, also of those on their way out. */
async function podNames(): Promise<readonly string[]> {
  const selector = ["-n", OPERATOR_NAMESPACE, "-l", `app.kubernetes.io/name=${OPERATOR}`];
  const { items } = await kubectl.json<{ items: { metadata: { name: string } }[] }>(["get", "pods", ...selector]);
  return items.map(({ metadata }) => metadata.name);
}

/** Waits until none of these pods is left: one that is still ending does not count for a rollout, but calls may be led to it. */
async function replaced(before: readonly string[]): Promise<void> {
  const timeout = `--timeout=${REPLACED_WITHIN_MS / 1_000}s`;
  await kubectl.run(["rollout", "status", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE, timeout]);
  const old = async () => (await podNames()).filter((name) => before.includes(name));
  await eventually(async () => expect(await old()).toEqual([]), REPLACED_WITHIN_MS);
}

test("no edit goes unchecked while every replica of the operator is replaced by another one", async () => {
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
  console.log(`${checked} edits were checked meanwhile`);
  expect(checked).toBeGreaterThan(5);
});

test("who deletes the Secret gets another one, and edits are checked again", async () => {
  await using namespace = await testNamespace("webhooks");
  const pods = await podNames();
  const secret = ["secret", WEBHOOKS, "-n", OPERATOR_NAMESPACE];
  const before = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
  await kubectl.run(["delete", ...secret]);
  // Nobody looks before minutes have passed, but for whoever starts.
  await kubectl.run(["rollout", "restart", `deployment/${OPERATOR}`, "-n", OPERATOR_NAMESPACE]);
  await eventually(async () => {
    expect((await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said).toContain(EVEN);
    const after = await kubectl.json<{ metadata: { uid: string } }>(["get", ...secret]);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
  }, REPLACED_WITHIN_MS);
  // What the old ones show went with the Secret: nobody trusts it any more.
  await replaced(pods);
  // Whoever leads by then says whom to trust wherever it was not said before, and each replica shows the new one after that.
  const checked = async () => (await apply(namespace.name, { replicas: 2, podTemplate: GOOD })).said.includes(EVEN);
  const since = performance.now();
  await eventually(async () => {
    for (let edit = 0; edit < EDITS_IN_A_ROW; edit++) expect(await checked(), `edit ${edit}`).toBe(true);
  }, CHECKED_AGAIN_WITHIN_MS);
  console.log(
    `every edit is checked ${Math.round(performance.now() - since)} ms after the last of the old ones was gone`,
  );
});
