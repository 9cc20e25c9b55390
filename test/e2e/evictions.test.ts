import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { evict } from "#kit/e2e/eviction.ts";
import type { MemberPod } from "#kit/e2e/loaded-cluster.ts";
import { isReady } from "#kube/pod.ts";

// A drain evicts all pods of a node. A cluster of one or two members must not make it wait for ever.

const namespaces: Awaited<ReturnType<typeof testNamespace>>[] = [];
const clusters = new Map<number, UserCluster>();

beforeAll(async () => {
  await Promise.all(
    [1, 2].map(async (replicas) => {
      const namespace = await testNamespace(`evict-${replicas}`);
      namespaces.push(namespace);
      const cluster = new UserCluster(namespace.name);
      clusters.set(replicas, cluster);
      await cluster.create({ replicas });
      await cluster.untilReady();
    }),
  );
});

afterAll(async () => {
  for (const namespace of namespaces) await namespace[Symbol.asyncDispose]();
});

for (const replicas of [1, 2]) {
  test(`all members of a cluster of ${replicas} can be evicted, one after another, and keep IDs and data`, async () => {
    const cluster = clusters.get(replicas)!;
    await cluster.put("my-etcd-0", "before", "the evictions");
    const members = await cluster.members("my-etcd-0");
    for (let n = 0; n < replicas; n++) {
      const podNow = async () => await cluster.json<MemberPod>("get", "pod", await cluster.podOf(`my-etcd-${n}`));
      const before = await podNow();
      const refusals = await evict(before, cluster.namespace);
      console.log(`${replicas} members: the eviction of my-etcd-${n} was refused ${refusals} times`);
      await eventually(async () => {
        const after = await podNow();
        expect(after.metadata.uid).not.toBe(before.metadata.uid);
        expect(isReady(after as never)).toBe(true);
      });
    }
    await cluster.untilReady();
    await eventually(async () => expect(await cluster.members("my-etcd-0")).toEqual(members));
    const value = await eventually(() => cluster.etcdctl("my-etcd-0", "get", "before", "--print-value-only"));
    expect(value.trim()).toBe("the evictions");
  });
}
