import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { eventually, instance, kubectl, node, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { emptyVolume, killEtcd } from "#kit/e2e/load-accidents.ts";
import type { MemberPod } from "#kit/e2e/loaded-cluster.ts";

// Data outlives deleted clusters, taken names and lost disks.

interface Copied {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly volumeName?: string };
}

/** Time for the operator to react on a busy machine. */
const SOON_MS = 120_000;

describe.concurrent("existing data", () => {
  /** Deletes the EtcdCluster and waits until its members are gone. */
  async function deleteCluster(cluster: UserCluster): Promise<void> {
    await cluster.kubectl("delete", "etcdcluster", cluster.name);
    await eventually(async () => {
      const { items } = await cluster.json<{ items: unknown[] }>("get", "pods,etcdpeers,replicasets");
      expect(items).toEqual([]);
    }, SOON_MS);
  }

  test("is used by a recreated cluster with the same name, with more or fewer members", async () => {
    await using namespace = await testNamespace("again");
    const cluster = new UserCluster(namespace.name);
    await cluster.create({ replicas: 3 });
    const before = await cluster.untilReady(SOON_MS);
    await cluster.put("my-etcd-0", "kept", "yes");
    for (const replicas of [5, 1]) {
      await deleteCluster(cluster);
      await cluster.create({ replicas });
      const after = await cluster.untilReady(240_000);
      expect(after.status?.identity?.clusterID).toBe(before.status?.identity?.clusterID);
      expect(await cluster.members("my-etcd-0")).toHaveLength(replicas);
      expect(await cluster.read("my-etcd-0", "kept")).toBe("yes");
    }
  });

  test("is recovered from a majority of the claims, and is never reinitialized with fewer", async () => {
    await using namespace = await testNamespace("half");
    const cluster = new UserCluster(namespace.name);
    await cluster.create({ replicas: 3 });
    await cluster.untilReady(SOON_MS);
    await cluster.put("my-etcd-0", "kept", "yes");
    await deleteCluster(cluster);
    await cluster.kubectl("delete", "pvc", "my-etcd-1");
    await cluster.create({ replicas: 3 });
    const { status } = await cluster.untilReady(240_000);
    const names = status?.members?.map(({ name }) => name) ?? [];
    expect(await cluster.read("my-etcd-0", "kept")).toBe("yes");
    await deleteCluster(cluster);
    for (const name of names.filter((each) => each !== "my-etcd-0")) await cluster.kubectl("delete", "pvc", name);
    await cluster.create({ replicas: 3 });
    await cluster.untilCondition("Available", "False", "QuorumLost", SOON_MS);
    await sleep(10_000); // nothing else may happen in this time
    const { status: waiting } = await cluster.get();
    expect(waiting?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("False");
    const { items } = await cluster.json<{ items: { metadata: { name: string } }[] }>("get", "pvc");
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["my-etcd-0"]);
  });

  test("is used again after kubectl delete --cascade=orphan, with the command in the condition Ready", async () => {
    await using namespace = await testNamespace("orphans");
    const cluster = new UserCluster(namespace.name);
    const tls = { peer: { provider: "Operator" }, client: { provider: "Operator" } } as const;
    await cluster.create({ replicas: 3, tls });
    const before = await cluster.untilReady(SOON_MS);
    await cluster.put("my-etcd-0", "kept", "yes");
    await cluster.kubectl("delete", "etcdcluster", "my-etcd", "--cascade=orphan");
    await cluster.create({ replicas: 3, tls });
    const { status } = await cluster.untilCondition("Ready", "False", "NameTaken", SOON_MS);
    const said = status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
    expect(await cluster.read("my-etcd-0", "kept")).toBe("yes"); // the members serve until the command runs
    const [, command = ""] = /: kubectl (delete .+)\. The members then come back/.exec(said) ?? [];
    await kubectl.run(command.split(" "));
    const after = await cluster.untilReady(240_000);
    expect(after.status?.identity?.clusterID).toBe(before.status?.identity?.clusterID);
    expect(await cluster.read("my-etcd-0", "kept")).toBe("yes");
  });

  test("is not changed when its claims are copied into another namespace with their labels and annotations", async () => {
    await using from = await testNamespace("original");
    await using to = await testNamespace("copy");
    const [original, copy] = [new UserCluster(from.name), new UserCluster(to.name)];
    await original.create({ replicas: 3 });
    await original.untilReady(SOON_MS);
    await original.put("my-etcd-0", "kept", "yes");
    const members = await original.members("my-etcd-0");
    const { items } = await original.json<{ items: Copied[] }>("get", "pvc");
    for (const { metadata, spec } of items) {
      const { name, labels } = metadata;
      const { volumeName: _, ...wanted } = spec;
      const ours = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith("etcd.improbable.io/"));
      const annotations = Object.fromEntries(ours); // without those about the original's binding
      const claim = {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name, labels, annotations },
        spec: wanted,
      };
      await kubectl.run(["create", "-n", to.name, "-f", "-"], { input: JSON.stringify(claim) });
    }
    await expect(copy.create({ replicas: 3 })).rejects.toThrow(`of EtcdCluster my-etcd in namespace ${from.name}`);
    const answers = await Promise.all(members.map(({ name }) => original.read(name, "kept")));
    expect(answers).toEqual(["yes", "yes", "yes"]);
    expect(await original.members("my-etcd-0")).toEqual(members);
  });

  const foreign = [
    { what: "has no labels", labels: {}, annotations: {}, in: "etcdpeer" },
    {
      what: "belongs to another cluster",
      labels: {
        "app.kubernetes.io/managed-by": "etcd-cluster-operator",
        "etcd.improbable.io/cluster-name": "else",
        "etcd.improbable.io/peer-name": "else-0",
      },
      annotations: { "etcd.improbable.io/cluster-id": "abcdef", "etcd.improbable.io/member-id": "fedcba" },
      in: "etcdpeer",
    },
    {
      what: "belongs to an unknown member of an earlier cluster",
      labels: {
        "app.kubernetes.io/managed-by": "etcd-cluster-operator",
        "etcd.improbable.io/cluster-name": "my-etcd",
        "etcd.improbable.io/peer-name": "my-etcd-0",
      },
      annotations: { "etcd.improbable.io/cluster-id": "abcdef" },
      in: "etcdcluster",
    },
  ];
  for (const { what, labels, annotations, in: kind } of foreign) {
    test(`is not changed when an existing claim ${what}, and a condition or a refusal names the claim`, async () => {
      await using namespace = await testNamespace("foreign");
      const cluster = new UserCluster(namespace.name);
      const claim = {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "my-etcd-0", namespace: namespace.name, labels, annotations },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      };
      await kubectl.run(["create", "-f", "-"], { input: JSON.stringify(claim) });
      const before = await cluster.json<{ metadata: object; spec: object }>("get", "pvc", "my-etcd-0");
      // The webhook already refuses what is evident from the claims.
      if (kind === "etcdcluster")
        await expect(cluster.create({ replicas: 1 })).rejects.toThrow(/my-etcd-0.*are not overwritten/);
      else {
        await cluster.create({ replicas: 1 });
        await mustName(cluster, kind, /my-etcd-0/, /ClaimTaken|NameTaken/);
      }
      const after = await cluster.json<{ metadata: object; spec: object }>("get", "pvc", "my-etcd-0");
      expect(after).toEqual(before);
      await cluster.kubectl("delete", "pvc", "my-etcd-0");
      await cluster.create({ replicas: 1 });
      await cluster.untilReady(240_000);
    });
  }

  test("is not changed when a foreign ReplicaSet has the member's name, and a condition names the ReplicaSet", async () => {
    await using namespace = await testNamespace("foreign");
    const cluster = new UserCluster(namespace.name);
    const labels = { app: "else" };
    const replicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "my-etcd-0", namespace: namespace.name },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "else", image: "else" }] } },
      },
    };
    await kubectl.run(["create", "-f", "-"], { input: JSON.stringify(replicaSet) });
    await cluster.create({ replicas: 1 });
    await mustName(cluster, "etcdpeer", /my-etcd-0/, /NameTaken/);
    const { metadata } = await cluster.json<{ metadata: { ownerReferences?: unknown; labels?: unknown } }>(
      "get",
      "replicaset",
      "my-etcd-0",
    );
    expect(metadata).not.toHaveProperty("ownerReferences");
    expect(metadata).not.toHaveProperty("labels");
    await cluster.kubectl("delete", "replicaset", "my-etcd-0");
    await cluster.untilReady(240_000);
  });

  /** Waits until the condition Ready of the cluster, or of its first peer, names the object. */
  async function mustName(cluster: UserCluster, kind: string, message: RegExp, reason: RegExp): Promise<void> {
    await eventually(async () => {
      const name = kind === "etcdpeer" ? "my-etcd-0" : "my-etcd";
      const { status } = await cluster.json<{
        status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
      }>("get", kind, name);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready).toMatchObject({
        status: "False",
        reason: expect.stringMatching(reason),
        message: expect.stringMatching(message),
      });
    }, SOON_MS);
  }
});

test("an initial member that is cut off and loses its data never bootstraps a second cluster", async () => {
  await using namespace = await testNamespace("founder");
  const cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 1 });
  await cluster.untilReady(SOON_MS);
  await cluster.kubectl("scale", "etcdcluster", "my-etcd", "--replicas=3");
  await cluster.untilReady(SOON_MS);
  await cluster.put("my-etcd-0", "kept", "yes");
  const { metadata, spec } = await cluster.json<MemberPod>("get", "pod", await cluster.podOf("my-etcd-0"));
  const volume = await cluster.volumeOf("my-etcd-0");
  const nodeNumber = Number(spec.nodeName.replace("node-", ""));
  await node("partition", nodeNumber);
  try {
    await emptyVolume(instance, spec.nodeName, volume);
    await killEtcd(metadata.uid);
    await sleep(20_000); // its container restarts, unseen by the API server
  } finally {
    await node("heal", nodeNumber);
  }
  // The operator may have been cut off as well: the current status may be outdated.
  await eventually(async () => {
    const { status } = await cluster.untilReady(SOON_MS);
    expect(await cluster.read(status?.leader ?? "", "kept")).toBe("yes");
    expect((await cluster.members(status?.leader ?? "")).map(({ name }) => name)).toContain("my-etcd-1");
  }, 240_000);
});
