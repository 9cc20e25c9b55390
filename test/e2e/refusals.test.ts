import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type AuditedRequest, AuditLog, isRead } from "#kit/e2e/audit-log.ts";
import { eventually, giveEtcdImage, instance, kubectl, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { requestsDuring } from "#kit/sweeps/settled-operator.ts";
import { OPERATOR_REPLICAS } from "../../scripts/manifests.ts";

// Problems of the surrounding Kubernetes cluster: conditions, status and events report them, the operator does not
// busy-loop, and it continues once they are solved.

/** A stuck pod is reported after 10 s, its cluster after 30 s; the rest is for a busy machine. */
const TOLD_WITHIN_MS = 120_000;
/** The kubelet and the ReplicaSet controller retry after a fix with their own, growing backoff. */
const MENDED_WITHIN_MS = 240_000;
/** Both timeouts, and a minute or two in which requests are counted. */
const PATIENTLY = { timeout: 480_000 };

/** Applies objects as a user would. */
async function apply(namespace: string, ...objects: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  await kubectl.run(["apply", "-n", namespace, "-f", "-"], { input });
}

interface Events {
  items: { type: string; reason: string; note?: string; regarding: { kind: string; name: string } }[];
}

/** All that status and events report about the cluster and its member, by place. */
async function said(cluster: UserCluster, peer: string): Promise<Readonly<Record<string, string>>> {
  const { status } = await cluster.get();
  const { status: peerStatus } = await cluster.json<EtcdPeer>("get", "etcdpeer", peer);
  const events = await cluster.json<Events>("get", "events.events.k8s.io");
  const warnings = (kind: string, name: string) =>
    events.items
      .filter(({ type, regarding }) => type === "Warning" && regarding.kind === kind && regarding.name === name)
      .map(({ reason, note }) => `${reason}: ${note}`)
      .join("\n");
  return {
    "condition Progressing": status?.conditions?.find(({ type }) => type === "Progressing")?.message ?? "",
    "line of the member": status?.members?.find(({ name }) => name === peer)?.message ?? "",
    "condition of the peer": peerStatus?.conditions?.find(({ type }) => type === "Ready")?.message ?? "",
    "warning about the peer": warnings("EtcdPeer", peer),
    "warning about the cluster": warnings("EtcdCluster", cluster.name),
  };
}

/** Waits until all of these patterns match in every place. */
async function untilSaid(cluster: UserCluster, words: readonly RegExp[], peer = `${cluster.name}-0`): Promise<void> {
  await eventually(async () => {
    for (const [place, text] of Object.entries(await said(cluster, peer))) {
      for (const word of words) expect(text, place).toMatch(word);
    }
  }, TOLD_WITHIN_MS);
}

async function operatorIsReady(): Promise<void> {
  const { status } = await kubectl.json<{ status: { readyReplicas?: number } }>([
    "get",
    "deployment",
    "etcd-cluster-operator",
    "-n",
    "etcd-operator-system",
  ]);
  expect(status.readyReplicas).toBe(OPERATOR_REPLICAS);
}

function quota(hard: object) {
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "few" }, spec: { hard } };
}

/** Runs kubectl at the end of the test to undo what is outside of the test's namespace. */
function undone(...args: readonly string[]): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => void (await kubectl.run(args, { mayFail: true })) };
}

// These tests mostly wait, so they run concurrently.
describe.concurrent("the problem is reported, changes no existing data, and ends when it is solved:", PATIENTLY, () => {
  test("an unknown storage class", async () => {
    await using namespace = await testNamespace("class");
    const cluster = new UserCluster(namespace.name);
    const storageClassName = namespace.name; // not namespaced, so named after ours
    await cluster.create({ replicas: 1, storage: { storageClassName } });
    const { items } = await kubectl.json<{
      items: { metadata: { name: string }; provisioner: string; volumeBindingMode: string }[];
    }>(["get", "storageclass"]);
    await untilSaid(cluster, [
      new RegExp(
        `claim my-etcd-0 is Pending: storage class ${storageClassName} does not exist; there are: .*${items[0]!.metadata.name}`,
      ),
    ]);
    const { provisioner, volumeBindingMode } = items[0]!;
    const metadata = { name: storageClassName };
    await using _class = undone("delete", "storageclass", storageClassName);
    await apply(namespace.name, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata,
      provisioner,
      volumeBindingMode,
    });
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("an image that cannot be pulled", async () => {
    await using namespace = await testNamespace("image");
    const cluster = new UserCluster(namespace.name);
    const version = `3.6.${1_000_000 + (Date.now() % 1_000_000)}`; // no node has it, and nodes cannot reach a registry
    await cluster.create({ replicas: 1, version });
    await untilSaid(cluster, [/container etcd waits: (ErrImagePull|ImagePullBackOff)/, new RegExp(`etcd:v${version}`)]);
    const requests = await requestsDuring(namespace.name, 20_000);
    // The kubelet alternates between pulling and backoff, and each change is reported. The operator writes nothing
    // else.
    expect(requests.filter((request) => !isRead(request)).length).toBeLessThan(20);
    await giveEtcdImage(version);
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("no node matches the affinity", async () => {
    await using namespace = await testNamespace("node");
    const cluster = new UserCluster(namespace.name);
    const matchExpressions = [{ key: "suits", operator: "In", values: [namespace.name] }];
    const required = { nodeSelectorTerms: [{ matchExpressions }] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    await cluster.create({ replicas: 1, podTemplate: { spec: { affinity } } });
    await untilSaid(cluster, [/pod cannot be scheduled: .*didn't match Pod's node affinity/]);
    await using _label = undone("label", "node", "node-1", "suits-");
    await kubectl.run(["label", "node", "node-1", `suits=${namespace.name}`, "--overwrite"]);
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("the namespace's quota allows no more pods", async () => {
    await using namespace = await testNamespace("pods");
    const cluster = new UserCluster(namespace.name);
    await apply(namespace.name, quota({ pods: "0" }));
    await cluster.create({ replicas: 1 });
    await untilSaid(cluster, [/its pod cannot be created: .*exceeded quota: few.*pods=1/]);
    expect((await requestsDuring(namespace.name, 20_000)).length).toBeLessThan(20);
    await cluster.kubectl("delete", "resourcequota", "few");
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("the namespace's quota allows no more claims", async () => {
    await using namespace = await testNamespace("claims");
    const cluster = new UserCluster(namespace.name);
    await apply(namespace.name, quota({ persistentvolumeclaims: "0" }));
    await cluster.create({ replicas: 1 });
    await untilSaid(cluster, [/create-claim|await-members|claim/, /exceeded quota: few.*persistentvolumeclaims=1/]);
    const requests = await requestsDuring(namespace.name, 20_000);
    // The claim is reported after half a minute, when retries are more than 10 s apart. The operator also reads whether
    // the claim exists.
    const isTry = ({ verb, resource }: AuditedRequest) => verb === "create" && resource === "persistentvolumeclaims";
    expect(requests.filter(isTry).length).toBeLessThan(3);
    expect(requests.length).toBeLessThan(20);
    await cluster.kubectl("delete", "resourcequota", "few");
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("a foreign Service with the cluster's name is reported and not changed, and the cluster waits for its deletion", async () => {
    await using namespace = await testNamespace("taken");
    const cluster = new UserCluster(namespace.name);
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "my-etcd" },
      spec: { ports: [{ port: 80 }] },
    };
    await apply(namespace.name, service);
    const before = await cluster.json<{ metadata: object; spec: object }>("get", "service", "my-etcd");
    await cluster.create({ replicas: 1 });
    await cluster.untilCondition("Ready", "False", "NameTaken", TOLD_WITHIN_MS);
    // Members start without that Service; then there is nothing else to do.
    const { status } = await cluster.untilCondition("Progressing", "False", "NameTaken", TOLD_WITHIN_MS);
    expect(status?.conditions?.find(({ type }) => type === "Progressing")?.message).toMatch(
      /services .*my-etcd.*already exists/,
    );
    expect(status?.readyMembers).toBe("1/1");
    // Events are written asynchronously, so they may come after the status.
    await eventually(async () => {
      const { items } = await cluster.json<Events>("get", "events.events.k8s.io");
      const warnings = items.filter(({ type, regarding }) => type === "Warning" && regarding.kind === "EtcdCluster");
      expect(warnings.map(({ note }) => note).join("\n")).toMatch(/my-etcd.*already exists/);
    });
    expect((await requestsDuring(namespace.name, 20_000)).length).toBeLessThan(30);
    expect(await cluster.json("get", "service", "my-etcd")).toEqual(before);
    await cluster.kubectl("delete", "service", "my-etcd");
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("a namespace is deleted with its cluster, and the operator sends no more requests for it", async () => {
    const namespace = await testNamespace("gone");
    const cluster = new UserCluster(namespace.name);
    await cluster.create({ replicas: 3 });
    await cluster.untilReady(MENDED_WITHIN_MS);
    const log = new AuditLog(join(instance.logs, "audit.log"));
    await kubectl.run(["delete", "namespace", namespace.name, "--timeout=180s"]);
    const ours = (await log.requests()).filter((request) => request.namespace === namespace.name);
    // Members under deletion stay managed until their cluster is deleted, for half a minute, with growing backoff. The
    // number of tries depends on the order in which the namespace controller deletes; a loop without pauses would make
    // thousands.
    expect(ours.filter((request) => !isRead(request)).length).toBeLessThan(200);
    // The last update of a counted event may still be under way; it is dropped without a retry.
    const late = await requestsDuring(namespace.name, 10_000);
    expect(late.filter(({ resource }) => resource !== "events")).toEqual([]);
    expect(late.length).toBeLessThan(10);
    await operatorIsReady();
  });
});
