import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, node, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { killEtcd } from "#kit/e2e/load-accidents.ts";
import { operatorNode } from "#kit/e2e/loaded-cluster.ts";

// Members stop in every way in which pods can, and return with the same member ID and data.

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;

beforeAll(async () => {
  namespace = await testNamespace("return");
  cluster = new UserCluster(namespace.name);
  await cluster.create({ replicas: 3 });
  await cluster.untilReady();
});

afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

interface Pod {
  metadata: { name: string; uid: string };
  spec: { nodeName: string };
  status: { containerStatuses?: { restartCount: number; containerID?: string; ready: boolean }[] };
}

async function pod(peer: string): Promise<Pod> {
  return await cluster.json<Pod>("get", "pod", await cluster.podOf(peer));
}

/** Writes a key, runs `goAway` on the member, and expects the same member with the same data afterwards. */
async function returnsAfter(peer: string, key: string, goAway: () => Promise<void>): Promise<void> {
  const before = await cluster.untilReady();
  const other = peer === "my-etcd-0" ? "my-etcd-1" : "my-etcd-0";
  await cluster.put(other, key, `written before ${key}`);
  const members = await cluster.members(other);
  await goAway();
  const after = await cluster.untilReady(150_000);
  expect(after.status?.identity).toEqual(before.status?.identity);
  expect(await cluster.members(peer)).toEqual(members);
  // A serializable read returns what is on this member's disk, without asking the others.
  const found = await eventually(() => cluster.etcdctl(peer, "get", key, "--consistency=s", "--print-value-only"));
  expect(found.trim()).toBe(`written before ${key}`);
}

test("a member with a deleted pod returns with its ID and its data", async () => {
  const before = await pod("my-etcd-0");
  await returnsAfter("my-etcd-0", "pod-deleted", async () => {
    await cluster.kubectl("delete", "pod", before.metadata.name);
  });
  expect((await pod("my-etcd-0")).metadata.uid).not.toBe(before.metadata.uid);
});

test("a member with a killed container returns in the same pod", async () => {
  const before = await pod("my-etcd-1");
  await returnsAfter("my-etcd-1", "container-killed", async () => {
    await killEtcd(before.metadata.uid);
    await eventually(async () => {
      const restarts = (await pod("my-etcd-1")).status.containerStatuses?.[0]?.restartCount ?? 0;
      if (restarts === 0) throw new Error("the container was not started again yet");
    });
  });
  expect((await pod("my-etcd-1")).metadata.uid).toBe(before.metadata.uid);
});

test("three members return with their data when all pods are deleted at once", async () => {
  await returnsAfter("my-etcd-2", "all-deleted", async () => {
    await cluster.kubectl("delete", "pods", "--all", "--wait=false");
    await eventually(async () => {
      const { status } = await cluster.get();
      if (status?.readyReplicas === 3) throw new Error("all members are still ready");
    }, 20_000).catch(() => undefined); // all may be ready again before the first poll
  });
});

test("a member on a node that loses power returns with the node", async () => {
  const busy = await operatorNode(); // without this node, no status is written until the operator runs elsewhere
  const [one, other] = [await pod("my-etcd-1"), await pod("my-etcd-2")];
  const [name, { spec }] = one.spec.nodeName === busy ? (["my-etcd-2", other] as const) : (["my-etcd-1", one] as const);
  const number = Number(spec.nodeName.replace("node-", ""));
  try {
    await returnsAfter(name, "node-stopped", async () => {
      await node("stop", number);
      await cluster.untilCondition("Degraded", "True", "MembersUnhealthy", 60_000);
      await cluster.put("my-etcd-0", "while-down", "the others carry on");
      await node("start", number);
    });
  } finally {
    await node("start", number);
  }
  expect(await cluster.read(name, "while-down")).toBe("the others carry on");
});

test("a member is not restarted when the quorum is lost, and the condition names the missing members", async () => {
  const survivor = await pod("my-etcd-0");
  const scaled = ["my-etcd-1", "my-etcd-2"];
  // While paused, the operator does not repair, but continues to report.
  await cluster.kubectl("annotate", "etcdcluster", cluster.name, "etcd.improbable.io/paused=true");
  for (const peer of scaled)
    await cluster.kubectl("patch", "replicaset", peer, "--type=merge", "-p", '{"spec":{"replicas":0}}');
  const { status } = await cluster.untilCondition("Available", "False", "QuorumLost", 60_000);
  expect(status?.conditions?.find(({ type }) => type === "Available")?.message).toMatch(
    /2 of 3 voters are needed; missing: .*my-etcd-1.*my-etcd-2/,
  );
  // Two liveness periods, in which a probe that needs a quorum would fail.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const now = await pod("my-etcd-0");
  expect(now.metadata.uid).toBe(survivor.metadata.uid);
  expect(now.status.containerStatuses?.[0]?.restartCount).toBe(survivor.status.containerStatuses?.[0]?.restartCount);
  // After the pause, the operator restores the ReplicaSets by itself.
  await cluster.kubectl("annotate", "etcdcluster", cluster.name, "etcd.improbable.io/paused-");
  await cluster.untilReady();
});
