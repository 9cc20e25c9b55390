import { expect, test } from "vitest";
import { CLUSTER_LABEL, MANAGED_BY_LABEL, OPERATOR, PEER_LABEL } from "#api/names.ts";
import { silentLog } from "#base/log.ts";
import { LastChecks } from "#cluster/observe/last-checks.ts";
import { cluster, endpointStatus } from "#kit/snapshots/cluster.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { AnyResource, KubeObject } from "#kube/kinds.ts";
import { type Shard, shardNumber } from "#shards/belonging.ts";
import { createCaches } from "./caches.ts";
import { managedClusters } from "./managed.ts";

const ZONE = "topology.kubernetes.io/zone";
const never = new AbortController().signal;
const WHOLE = cluster();
const named = (name: string) => ({ ...WHOLE.cluster, metadata: { ...WHOLE.cluster.metadata, name, uid: name } });
const pods = [...WHOLE.pods].map(([member, pod], n) => {
  const labels = { [MANAGED_BY_LABEL]: OPERATOR, [CLUSTER_LABEL]: "my-etcd", [PEER_LABEL]: member };
  return { ...pod, metadata: { ...pod.metadata, labels: n === 0 ? labels : { ...labels, [ZONE]: `zone-${n}` } } };
});
const STATE: Readonly<Record<string, readonly KubeObject[]>> = {
  etcdclusters: [named("my-etcd"), named("other")],
  pods,
};

async function worldOf(shard?: Shard, leads = true) {
  const watch = async function* (resource: AnyResource) {
    for (const object of STATE[resource.plural] ?? []) yield { type: "ADDED", object };
    yield { type: "BOOKMARK", resourceVersion: "100", initialEventsEnd: true };
    await new Promise(() => undefined);
  };
  const clock = new FakeClock();
  const caches = createCaches({ watch } as unknown as KubeClient, clock, silentLog, { shard });
  for (const cache of Object.values(caches)) cache.start(never);
  await clock.advance(0);
  return { caches, lastChecks: new LastChecks(), leads: () => leads, ledSinceMs: 3, shard };
}

const namesIn = (worlds: Parameters<typeof managedClusters>[0]) =>
  managedClusters(worlds).map(({ cluster: { metadata } }) => metadata.name);

test("the process that leads manages every cluster, and a standby none", async () => {
  expect(namesIn([await worldOf()])).toEqual(["my-etcd", "other"]);
  expect(namesIn([await worldOf(undefined, false)])).toEqual([]);
});

test("a process of several manages the clusters of the shards that it leads", async () => {
  const mine = shardNumber("foo", "my-etcd", 100);
  expect(shardNumber("foo", "other", 100)).not.toBe(mine);
  expect(namesIn([await worldOf({ number: mine, of: 100 })])).toEqual(["my-etcd"]);
  const other = await worldOf({ number: shardNumber("foo", "other", 100), of: 100 });
  expect(namesIn([await worldOf({ number: mine, of: 100 }), other])).toEqual(["my-etcd", "other"]);
});

test("a member's zone is a label of its pod, and the last check is the one of its own world", async () => {
  const world = await worldOf();
  const id = WHOLE.cluster.status!.identity!.initialMembers[0]!.id;
  const status = endpointStatus("abc", id, id);
  world.lastChecks.quicklyChecked({ namespace: "foo", name: "my-etcd" }, "my-etcd-0", status, 5);
  const [first, second] = managedClusters([world]);
  expect([...first!.zones]).toEqual([
    ["my-etcd-1", "zone-1"],
    ["my-etcd-2", "zone-2"],
  ]);
  expect(first!.check?.atMs).toBe(5);
  expect(first!.ledSinceMs).toBe(3);
  expect([...second!.zones]).toEqual([]);
  expect(second!.check).toBeUndefined();
});
