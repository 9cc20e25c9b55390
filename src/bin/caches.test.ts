import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { ETCD_INDEX } from "#access/calls.ts";
import { CLUSTER_LABEL, MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { silentLog } from "#base/log.ts";
import { CLUSTER_INDEX, OTHERS_INDEX } from "#cluster/observe/cached-parts.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { AnyResource, KubeObject } from "#kube/kinds.ts";
import { TARGET_INDEX } from "#restore/observe.ts";
import { ARCHIVE_INDEX, RESTORED_INDEX } from "#schedule/observe.ts";
import { type Shard, shardNumber } from "#shards/belonging.ts";
import { createCaches } from "./caches.ts";
import { certificateMetrics } from "./certificate-metrics.ts";
import { decidersOf } from "./deciders.ts";

const SHARD: Shard = { number: shardNumber("default", "mine", 1_000), of: 1_000 };
const never = new AbortController().signal;

/** Names of the objects of each kind, by plural. */
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
const withRef = (name: string, own: string) => named(own, { spec: { clusterRef: { name } } });
const labelled = (cluster: string, name: string) => {
  const object = named(name);
  const labels = { ...object.metadata.labels, [CLUSTER_LABEL]: cluster };
  return { ...object, metadata: { ...object.metadata, labels } };
};

const both = (of: (cluster: string, name: string) => object) => [of("mine", "mine-0"), of("else", "else-0")];
const cluster = (name: string) =>
  named(name, {
    spec: { replicas: 3, version: "3.6.5" },
    status: {
      members: [{ name: "m" }],
      conditions: [{ type: "Ready" }, { type: "Available" }],
      sleep: { startTime: "x" },
    },
  });
const STATE = {
  etcdclusters: [cluster("mine"), cluster("else")],
  etcdpeers: both(ofCluster),
  etcdusers: both(withRef),
  etcdroles: both(withRef),
  etcdbackups: both((cluster, name) => named(name, { spec: { source: { cluster: { name: cluster } } } })),
  etcdbackupschedules: both((cluster, name) =>
    named(name, { spec: { backupTemplate: { spec: { source: { cluster: { name: cluster } } } } } }),
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
  return await readAll(STATE, shard);
}

async function readAll(state: Readonly<Record<string, readonly object[]>>, shard?: Shard) {
  const clock = new FakeClock();
  const caches = createCaches(serverWith(state), clock, silentLog, { shard });
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

describe("an object that is too large", () => {
  const PADDING = { annotations: { padding: "x".repeat(600_000) } };
  const large = (object: KubeObject): KubeObject => ({ ...object, metadata: { ...object.metadata, ...PADDING } });
  const asLarge = (state: typeof STATE) =>
    Object.fromEntries(
      Object.entries(state).map(([kind, all]) => [kind, all.map((each) => large(each as KubeObject))]),
    );
  const MINE = { namespace: "default", name: "mine-0" };

  test("keeps its name in the cache and never seems absent, whatever its kind", async () => {
    const caches = await readAll(asLarge(STATE));
    for (const [kind, cache] of Object.entries(caches)) {
      const ref = kind === "clusters" ? { ...MINE, name: "mine" } : MINE;
      expect(cache.size, kind).toBe(2);
      expect(() => cache.get(ref), kind).toThrow(/mine(-0)? is too large: it has 600\d\d\d characters/);
      expect(cache.get(ref, "known")?.metadata, kind).toMatchObject({ ...ref, uid: ref.name, resourceVersion: "1" });
      expect(cache.get(ref, "known")?.metadata.annotations, kind).toBeUndefined();
      expect(cache.list("known"), kind).toHaveLength(2);
      expect(cache.list(), kind).toEqual([]);
    }
  });

  test("makes each pass fail that reads it, and no other pass", async () => {
    const caches = await readAll(asLarge(STATE));
    const { peers, backups, restores, users, roles, claims, pods, schedules } = caches;
    for (const cache of [peers, backups, schedules, claims, pods]) {
      expect(() => cache.byIndex(CLUSTER_INDEX, "default/mine")).toThrow("mine-0 is too large");
      expect(cache.byIndex(CLUSTER_INDEX, "default/mine", "known")).toHaveLength(1);
      expect(cache.byIndex(CLUSTER_INDEX, "default/third")).toEqual([]);
    }
    for (const cache of [users, roles])
      expect(() => cache.byIndex(ETCD_INDEX, "default/mine")).toThrow("mine-0 is too large");
    expect(() => restores.byIndex(TARGET_INDEX, "default/mine")).toThrow("mine-0 is too large");
  });

  test("is reconciled by the shard that it belongs to", async () => {
    const caches = await readAll(asLarge(STATE), SHARD);
    const decides = decidersOf(caches, SHARD);
    for (const kind of ["peer", "role", "user", "backup", "restore"] as const)
      expect([kind, decides[kind](MINE)]).toEqual([kind, true]);
    expect(decides.restore({ ...MINE, name: "else-0" })).toBe(false);
    expect(decides.backup({ ...MINE, name: "else-0" })).toBe(false);
  });

  test("keeps its references: the backup of a restore, and whether an EtcdBackup stores changes", async () => {
    const source = { backupName: "nightly" };
    const etcdrestores = [large(named("mine-0", { spec: { source, clusterTemplate: { clusterName: "mine" } } }))];
    const etcdbackups = [large(named("mine-0", { spec: { source: { addresses: ["a"] }, archive: { more: 1 } } }))];
    const { restores, backups } = await readAll({ etcdrestores, etcdbackups });
    expect(restores.byIndex(RESTORED_INDEX, "default/nightly", "known")).toHaveLength(1);
    expect(backups.byIndex(ARCHIVE_INDEX, "default", "known")).toHaveLength(1);
    expect(backups.list("known")[0]).toMatchObject({ spec: { source: {}, archive: {} } });
  });

  test("keeps its status for later reports, unless the status is too large as well", async () => {
    const status = { identity: { clusterID: "1" }, conditions: [{ type: "Ready" }] };
    const padded = { ...status, padding: "x".repeat(70_000) };
    const etcdclusters = [large(named("a", { spec: {}, status })), large(named("b", { spec: {}, status: padded }))];
    const { clusters } = await readAll({ etcdclusters });
    expect(clusters.get({ namespace: "default", name: "a" }, "known")?.status).toEqual(status);
    expect(clusters.get({ namespace: "default", name: "b" }, "known")).toBeUndefined();
    expect(() => clusters.get({ namespace: "default", name: "b" })).toThrow("b is too large");
    expect(clusters.list("known")).toHaveLength(2);
  });

  test("still has the metrics of its certificates", async () => {
    const certificates = [{ name: "server", notAfter: "2026-03-01T00:00:00Z" }];
    const { clusters, users } = await readAll({
      etcdclusters: [large(named("mine", { spec: {}, status: { tls: { certificates } } }))],
      etcdusers: [
        large(
          named("app", {
            spec: { clusterRef: { name: "mine" } },
            status: { binding: { name: "app-binding" }, certificate: { notAfter: "2026-03-01T00:00:00Z" } },
          }),
        ),
      ],
    });
    const registry = new Registry();
    certificateMetrics(
      registry,
      () => clusters.list("known"),
      () => users.list("known"),
    );
    const lines = (await registry.metrics()).split("\n").filter((line) => line.includes("{"));
    expect(lines).toHaveLength(2);
    expect(lines.every((line) => line.includes('cluster="mine"') && line.endsWith(" 1772323200"))).toBe(true);
  });

  test("is an EtcdCluster with a spec of more than 131072 characters", async () => {
    const of = (size: number) => [
      named("mine", { kind: "EtcdCluster", spec: { podTemplate: { text: "x".repeat(size) } } }),
    ];
    const ref = { namespace: "default", name: "mine" };
    const small = await readAll({ etcdclusters: of(131_000) });
    expect(small.clusters.get(ref)).toBeDefined();
    const { clusters } = await readAll({ etcdclusters: of(131_072) });
    expect(() => clusters.get(ref)).toThrow(
      "EtcdCluster default/mine is too large: its spec has 131100 characters, most of them in podTemplate.text; at most 131072 are read. The operator leaves it and what belongs to it as it is. Make it smaller.",
    );
  });
});

describe("a cache holds", () => {
  test("the objects of all clusters when there are no shards", async () => {
    for (const [kind, names] of Object.entries(await namesIn())) expect([kind, names.length]).toEqual([kind, 2]);
    const caches = await read();
    expect(caches.clusters.get({ namespace: "default", name: "else" })?.spec.version).toBe("3.6.5");
  });

  test("the objects of its shard's clusters, and of other clusters those to which users' objects may refer", async () => {
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

  test("the selectors of other budgets, whatever their shard", async () => {
    const selector = { matchLabels: { app: "a" } };
    const other = (name: string, more: object, metadata: object = {}) => ({
      metadata: { namespace: "default", name, uid: name, resourceVersion: "1", annotations: { a: "b" }, ...metadata },
      spec: { minAvailable: 1, selector, ...more },
      status: { currentHealthy: 1 },
    });
    const long = { selector: { matchLabels: { app: "a".repeat(5_000) } } };
    const ownerReferences = [{ apiVersion: "v1", kind: "EtcdCluster", name: "mine", uid: "1", controller: true }];
    const poddisruptionbudgets = [other("else", {}), other("long", long), other("owned", {}, { ownerReferences })];
    const { budgets } = await readAll({ poddisruptionbudgets }, SHARD);
    expect(budgets.list().map(({ metadata }) => metadata.name)).toEqual(["else", "owned"]);
    const [found, ...rest] = budgets.byIndex(OTHERS_INDEX, "default");
    expect(found).toMatchObject({ metadata: { name: "else", uid: "else" }, spec: { selector } });
    expect([found?.spec, found?.status, found?.metadata.annotations]).toEqual([{ selector }, undefined, undefined]);
    expect(rest).toEqual([]);
  });

  test("whether a cluster of another shard sleeps", async () => {
    const { clusters } = await read(SHARD);
    expect(clusters.get({ namespace: "default", name: "mine" })).toEqual(cluster("mine"));
    expect(clusters.get({ namespace: "default", name: "else" })).toEqual(
      named("else", { spec: { replicas: 3 }, status: { conditions: [{ type: "Ready" }], sleep: { startTime: "x" } } }),
    );
  });
});
