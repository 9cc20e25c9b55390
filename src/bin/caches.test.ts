import { describe, expect, test } from "vitest";
import { CLUSTER_LABEL, MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { silentLog } from "#base/log.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { AnyResource, KubeObject } from "#kube/kinds.ts";
import { type Shard, shardNumber } from "#shards/belonging.ts";
import { createCaches } from "./caches.ts";

const SHARD: Shard = { number: shardNumber("default", "mine", 1_000), of: 1_000 };
const never = new AbortController().signal;

/** What each kind has, by its plural. */
function serverWith(state: Readonly<Record<string, readonly object[]>>): KubeClient {
  const watch = async function* (resource: AnyResource) {
    for (const object of state[resource.plural] ?? []) yield { type: "ADDED", object };
    yield { type: "BOOKMARK", resourceVersion: "100", initialEventsEnd: true };
    await new Promise(() => undefined);
  };
  return { watch } as unknown as KubeClient;
}

function named(name: string, more: object = {}): KubeObject {
  const metadata = {
    namespace: "default",
    name,
    uid: name,
    resourceVersion: "1",
    labels: { [MANAGED_BY_LABEL]: OPERATOR },
  };
  return { metadata, ...more } as unknown as KubeObject;
}

const ofCluster = (clusterName: string, name: string) => named(name, { spec: { clusterName } });
const labelled = (cluster: string, name: string) => {
  const object = named(name);
  const labels = { ...object.metadata.labels, [CLUSTER_LABEL]: cluster };
  return { ...object, metadata: { ...object.metadata, labels } };
};

const both = (of: (cluster: string, name: string) => object) => [of("mine", "mine-0"), of("else", "else-0")];
const cluster = (name: string) =>
  named(name, {
    spec: { replicas: 3, version: "3.6.5" },
    status: { members: [{ name: "m" }], conditions: [{ type: "Ready" }, { type: "Available" }], sleep: { since: "x" } },
  });
const STATE = {
  etcdclusters: [cluster("mine"), cluster("else")],
  etcdpeers: both(ofCluster),
  etcdusers: both(ofCluster),
  etcdroles: both(ofCluster),
  etcdbackups: both((clusterName, name) => named(name, { spec: { source: { clusterName } } })),
  etcdbackupschedules: both((clusterName, name) =>
    named(name, { spec: { backupTemplate: { source: { clusterName } } } }),
  ),
  etcdrestores: both((clusterName, name) => named(name, { spec: { source: {}, clusterTemplate: { clusterName } } })),
  services: both(labelled),
  poddisruptionbudgets: both(labelled),
  networkpolicies: both(labelled),
  persistentvolumeclaims: both(labelled),
  replicasets: both(labelled),
  pods: both(labelled),
  jobs: both(labelled),
};

async function read(shard?: Shard) {
  const clock = new FakeClock();
  const caches = createCaches(serverWith(STATE), clock, silentLog, shard);
  for (const cache of Object.values(caches)) cache.start(never);
  await clock.advance(0);
  return caches;
}

async function namesIn(shard?: Shard) {
  const caches = await read(shard);
  return Object.fromEntries(
    Object.entries(caches).map(([kind, cache]) => [kind, cache.list().map(({ metadata }) => metadata.name)]),
  );
}

describe("what is kept in memory", () => {
  test("without shards everything is", async () => {
    for (const [kind, names] of Object.entries(await namesIn())) expect([kind, names.length]).toEqual([kind, 2]);
    const caches = await read();
    expect(caches.clusters.get({ namespace: "default", name: "else" })?.spec.version).toBe("3.6.5");
  });

  test("of a shard: what concerns its clusters, and what people's objects may refer to across clusters", async () => {
    const mine = ["mine-0"];
    const all = ["mine-0", "else-0"];
    expect(await namesIn(SHARD)).toEqual({
      clusters: ["mine", "else"],
      peers: mine,
      users: mine,
      roles: mine,
      services: mine,
      budgets: mine,
      networkPolicies: mine,
      claims: mine,
      replicaSets: mine,
      pods: mine,
      backups: all,
      schedules: all,
      restores: all,
      jobs: all,
    });
  });

  test("of another shard's cluster whether it sleeps", async () => {
    const { clusters } = await read(SHARD);
    expect(clusters.get({ namespace: "default", name: "mine" })).toEqual(cluster("mine"));
    expect(clusters.get({ namespace: "default", name: "else" })).toEqual(
      named("else", { spec: { replicas: 3 }, status: { conditions: [{ type: "Ready" }], sleep: { since: "x" } } }),
    );
  });
});
