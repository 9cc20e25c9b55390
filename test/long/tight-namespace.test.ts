import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";

// A namespace as shared platforms have it: a ResourceQuota refuses each pod without requests and limits, and a
// LimitRange refuses large containers. A cluster in it is backed up, verified and restored.

const QUOTA = { "requests.cpu": "4", "requests.memory": "4Gi", "limits.memory": "8Gi", pods: "20" };
const MOST_MEMORY = "1Gi";
const resources = { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "512Mi" } };
const podTemplate = { spec: { containers: [{ name: "etcd", resources }] } };

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;

beforeAll(async () => {
  namespace = await testNamespace("tight");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  const limits = [{ type: "Container", max: { memory: MOST_MEMORY } }];
  await cluster.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "all" }, spec: { hard: QUOTA } });
  await cluster.apply({ apiVersion: "v1", kind: "LimitRange", metadata: { name: "all" }, spec: { limits } });
  await cluster.create({ replicas: 3, podTemplate });
  await cluster.untilReady();
  await cluster.put("my-etcd-0", "kept", "yes");
});
afterAll(async () => await namespace?.[Symbol.asyncDispose]());

test("a quota and a limit range let a cluster be backed up, verified and restored", async () => {
  const restored = await backups.verifiedAndRestored({ replicas: 1, podTemplate });
  expect(await restored.read("restored-0", "kept")).toBe("yes");
});

test("a verification that is killed for its memory calls no backup wrong", async () => {
  const tooSmall = { requests: { cpu: "100m", memory: "6Mi" }, limits: { memory: "6Mi" } };
  await backups.backUp("killed", {
    source: { cluster: { name: cluster.name } },
    destination: { volume: { claimName: "backups", path: "killed" } },
    verification: { mode: "Restore" },
    podTemplate: { spec: { etcdResources: tooSmall } },
  });
  await eventually(async () => {
    const { status } = await backups.read("killed");
    const verified = status?.conditions?.find(({ type }) => type === "Verified");
    expect(status?.phase).toBe("Completed");
    expect(verified?.status).toBe("Unknown");
    expect(verified?.message).toContain("(OOMKilled), and the kubelet restarts it; set more memory");
  });
});
