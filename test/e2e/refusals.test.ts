import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { type AuditedRequest, AuditLog, isRead } from "#kit/audit-log.ts";
import { eventually, giveEtcdImage, instance, kubectl, testNamespace, UserCluster } from "#kit/e2e.ts";
import { requestsDuring } from "#kit/settled-operator.ts";
import { OPERATOR_REPLICAS } from "../../scripts/manifests.ts";

// What the cluster around us cannot give: it is said where people look, the operator stays calm, and goes on once it is mended.

/** A pod that hangs is told after ten seconds, its cluster after thirty; the rest is for a busy machine. */
const TOLD_WITHIN_MS = 120_000;
/** What has to be mended is tried again by others with their own, growing pauses: the kubelet, the ReplicaSet's controller. */
const MENDED_WITHIN_MS = 240_000;
/** Both, and a minute or two in which requests are counted. */
const PATIENTLY = { timeout: 480_000 };

/** Makes objects as a user would. */
async function apply(namespace: string, ...objects: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  await kubectl.run(["apply", "-n", namespace, "-f", "-"], { input });
}

interface Events {
  items: { type: string; reason: string; note?: string; regarding: { kind: string; name: string } }[];
}

/** Everything that is said of the cluster and its member where people look, by place. */
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

/** Waits until all of these words stand in every one of these places. */
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

/** Undoes with kubectl, at the end of the test, what is not in its namespace. */
function undone(...args: readonly string[]): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => void (await kubectl.run(args, { mayFail: true })) };
}

// They wait most of the time: side by side.
describe.concurrent("what is in the way is said, does no harm, and is over when it is mended:", PATIENTLY, () => {
  test("an unknown storage class", async () => {
    await using namespace = await testNamespace("class");
    const cluster = new UserCluster(namespace.name);
    const storageClassName = namespace.name; // not namespaced, so named after ours
    await cluster.create({ replicas: 1, storage: { storageClassName } } as never);
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
    const version = `3.6.${1_000_000 + (Date.now() % 1_000_000)}`; // no node has it, and there is no way out to fetch it
    await cluster.create({ replicas: 1, version });
    await untilSaid(cluster, [/container etcd waits: (ErrImagePull|ImagePullBackOff)/, new RegExp(`etcd:v${version}`)]);
    const requests = await requestsDuring(namespace.name, 20_000);
    // The kubelet turns between pulling and waiting, which is told; nothing else is done.
    expect(requests.filter((request) => !isRead(request)).length).toBeLessThan(20);
    await giveEtcdImage(version);
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("a node that suits", async () => {
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

  test("room for pods in the namespace's quota", async () => {
    await using namespace = await testNamespace("pods");
    const cluster = new UserCluster(namespace.name);
    await apply(namespace.name, quota({ pods: "0" }));
    await cluster.create({ replicas: 1 });
    await untilSaid(cluster, [/its pod cannot be created: .*exceeded quota: few.*pods=1/]);
    expect((await requestsDuring(namespace.name, 20_000)).length).toBeLessThan(20);
    await cluster.kubectl("delete", "resourcequota", "few");
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("room for claims in the namespace's quota", async () => {
    await using namespace = await testNamespace("claims");
    const cluster = new UserCluster(namespace.name);
    await apply(namespace.name, quota({ persistentvolumeclaims: "0" }));
    await cluster.create({ replicas: 1 });
    await untilSaid(cluster, [/create-claim|await-members|claim/, /exceeded quota: few.*persistentvolumeclaims=1/]);
    const requests = await requestsDuring(namespace.name, 20_000);
    // It is told after half a minute, and pauses are longer than ten seconds then. Besides, it is looked whether the claim is there.
    const isTry = ({ verb, resource }: AuditedRequest) => verb === "create" && resource === "persistentvolumeclaims";
    expect(requests.filter(isTry).length).toBeLessThan(3);
    expect(requests.length).toBeLessThan(20);
    await cluster.kubectl("delete", "resourcequota", "few");
    await cluster.untilReady(MENDED_WITHIN_MS);
  });

  test("a Service of somebody else's under the cluster's name is named, left alone, and waited for", async () => {
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
    // Members start beside it; then there is nothing else to do.
    const { status } = await cluster.untilCondition("Progressing", "False", "NameTaken", TOLD_WITHIN_MS);
    expect(status?.conditions?.find(({ type }) => type === "Progressing")?.message).toMatch(
      /services .*my-etcd.*already exists/,
    );
    expect(status?.ready).toBe("1/1");
    // Events are written on the side, so they may come after the status.
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

  test("a namespace that is deleted with its cluster goes, and the operator has nothing to do with it any more", async () => {
    const namespace = await testNamespace("gone");
    const cluster = new UserCluster(namespace.name);
    await cluster.create({ replicas: 3 });
    await cluster.untilReady(MENDED_WITHIN_MS);
    const log = new AuditLog(join(instance.logs, "audit.log"));
    await kubectl.run(["delete", "namespace", namespace.name, "--timeout=180s"]);
    const ours = (await log.requests()).filter((request) => request.namespace === namespace.name);
    // Members that go are looked after until their cluster goes itself, for half a minute, with ever longer pauses. How many tries
    // that are depends on the order in which the namespace controller deletes; a loop without pauses would make thousands.
    expect(ours.filter((request) => !isRead(request)).length).toBeLessThan(200);
    // The last word of an event that was counted may still be on its way; it is dropped, and not tried again.
    const late = await requestsDuring(namespace.name, 10_000);
    expect(late.filter(({ resource }) => resource !== "events")).toEqual([]);
    expect(late.length).toBeLessThan(10);
    await operatorIsReady();
  });
});
