import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { MANAGED_BY_LABEL, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { runChild } from "#kit/hostile/child.ts";
import { cpuMsOf, MAX_BLOCKED_MS, MAX_MEMORY_MB } from "#kit/hostile/cost.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "#kit/tables/kinds.ts";
import { type Draft, EVENTS, PERSISTENT_VOLUME_CLAIMS, REPLICA_SETS, type ReplicaSet, SERVICES } from "#kube/kinds.ts";
import { whyTooLarge } from "#kube/object-size.ts";
import { crdManifests } from "../../scripts/manifests.ts";

// Objects as large as the API server accepts: large pod templates, many labels, lists of empty lists.
// A tenant with write access to the kind in a namespace can create them.

const options = { signal: new AbortController().signal, deadlineMs: 30_000 };
const namespace = "default";
/** Number of objects of each kind. If they were kept in memory, they would exceed the limit by far. */
const COUNT = 25;
/** Number of objects with very many parts, which cost an API server seconds each. The others have one long text. */
const COSTLY = 3;
let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  for (const crd of crdManifests())
    await server.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd as unknown as CustomResourceDefinition, options);
});
afterAll(async () => await server?.stop());

/** 1.4 MB of JSON. Half of it is a list of empty lists, which take twenty times as much in memory. */
const large = () => [...Array.from({ length: 200_000 }, () => []), "x".repeat(700_000)];

async function createClusters(): Promise<void> {
  for (let n = 0; n < COUNT; n++) {
    const volumes = n < COSTLY ? large() : ["x".repeat(1_300_000)];
    const draft = {
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdCluster",
      metadata: { namespace, name: `large-${n}` },
      spec: { replicas: 3, version: "3.6.16", podTemplate: { spec: { volumes } } },
    };
    await server.client.create(ETCD_CLUSTERS, draft as unknown as Draft<EtcdCluster>, options);
  }
}

/** ReplicaSets, which the operator watches by label. Some have too many labels, the others a large template. */
async function createReplicaSets(): Promise<void> {
  const labels = { [MANAGED_BY_LABEL]: OPERATOR, a: "b" };
  const many = Object.fromEntries(Array.from({ length: 8_000 }, (_, n) => [`label-${n}`, "x".repeat(63)]));
  const env = [{ name: "LARGE", value: "x".repeat(1_000_000) }];
  for (let n = 0; n < COUNT; n++) {
    const isLabelled = n < COSTLY;
    const containers = [{ name: "a", image: "a", ...(isLabelled ? {} : { env }) }];
    const draft = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { namespace, name: `large-${n}`, labels: isLabelled ? { ...many, ...labels } : labels },
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels }, spec: { containers } },
      },
    };
    await server.client.create(REPLICA_SETS, draft as Draft<ReplicaSet>, options);
  }
}

describe("an EtcdCluster that becomes too large", () => {
  const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
  const ref = { namespace, name: "my-etcd" };

  function startOperator() {
    const ports = ["--http-port", "0", "--webhook-port", "0", "--metrics-port", "0"];
    const args = [PROGRAM, "--kubeconfig", server.kubeconfig, "--operator-namespace", namespace, ...ports];
    const operator = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let log = "";
    for (const stream of [operator.stdout, operator.stderr]) stream.on("data", (bytes) => (log += bytes));
    const end = new Promise((resolve) => operator.once("exit", resolve));
    return {
      log: () => log,
      stop: async () => {
        operator.kill("SIGTERM");
        await end;
      },
    };
  }

  const cluster = async () => await server.client.get(ETCD_CLUSTERS, ref, options);
  const soon = { timeout: 60_000, interval: 200 };

  /** Name, uid and version of each object of the cluster. */
  async function children(): Promise<readonly string[]> {
    const kinds = [ETCD_PEERS, REPLICA_SETS, PERSISTENT_VOLUME_CLAIMS, SERVICES] as const;
    const lists = await Promise.all(
      kinds.map(
        async (resource) => (await server.client.list(resource as typeof SERVICES, { namespace }, options)).items,
      ),
    );
    return lists
      .flat()
      .filter(({ metadata }) => metadata.name.startsWith("my-etcd"))
      .map(({ kind, metadata: { name, uid, generation, deletionTimestamp } }) =>
        [kind, name, uid, generation, deletionTimestamp].join(" "),
      );
  }

  async function patch(volumes: unknown): Promise<void> {
    const spec = { podTemplate: { spec: { volumes } } };
    await server.client.patch(ETCD_CLUSTERS, ref, { spec }, { ...options, type: "merge" });
  }

  async function saysTooLarge(): Promise<void> {
    await vi.waitFor(async () => {
      const conditions = (await cluster()).status?.conditions ?? [];
      expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({
        status: "Unknown",
        reason: "ObjectTooLarge",
        message: expect.stringMatching(/its spec has \d+ (characters|values), most of them in podTemplate\.spec/),
      });
    }, soon);
  }

  test("keeps its objects unchanged, also under a new operator process, until it is small enough again", async () => {
    const draft = {
      apiVersion: "etcd.improbable.io/v1beta1",
      kind: "EtcdCluster",
      metadata: ref,
      spec: { replicas: 3, version: "3.6.16", tls: { peer: { provider: "None" }, client: { provider: "None" } } },
    };
    await server.client.create(ETCD_CLUSTERS, draft as unknown as Draft<EtcdCluster>, options);
    const first = startOperator();
    try {
      // Three EtcdPeers with a claim and a ReplicaSet each, and two Services: no kubelet runs them.
      await vi.waitFor(async () => expect(await children()).toHaveLength(11), soon);
      const { identity } = (await cluster()).status ?? {};
      expect(identity?.clusterID).toBeDefined();
      await patch(large());
      await saysTooLarge();
      const before = await children();
      expect(before).toHaveLength(11);
      await first.stop();
      const second = startOperator();
      try {
        await vi.waitFor(() => expect(second.log()).toContain("is too large"), soon);
        await vi.waitFor(() => expect(second.log()).toContain("this process leads: at work"), soon);
        // The cluster and each member have had a complete pass.
        await vi.waitFor(
          () => expect(second.log().split("pass failed").length - 1, second.log()).toBeGreaterThanOrEqual(4),
          soon,
        );
        await saysTooLarge();
        expect(await children()).toEqual(before);
        expect((await cluster()).status?.identity).toEqual(identity);
        const { items } = await server.client.list(EVENTS, { namespace }, options);
        expect(items.filter((each) => each.reason === "ObjectTooLarge").length).toBeGreaterThan(0);
        await patch([]);
        await vi.waitFor(async () => {
          const ready = (await cluster()).status?.conditions?.find(({ type }) => type === "Ready");
          expect(ready?.reason).not.toBe("ObjectTooLarge");
        }, soon);
        expect((await cluster()).status?.identity).toEqual(identity);
      } finally {
        await second.stop();
      }
    } finally {
      await first.stop();
    }
  }, 240_000);
});

test("the size of one object is checked in less than 200 ms", async () => {
  const spec = { replicas: 3, version: "3.6.16", podTemplate: { spec: { volumes: large() } } };
  const metadata = { namespace, name: "a", uid: "u", resourceVersion: "1" };
  const text = JSON.stringify({ apiVersion: "a", kind: "EtcdCluster", metadata, spec });
  const read = () => whyTooLarge(JSON.parse(text));
  expect(read()).toContain("is too large");
  expect(await cpuMsOf(read)).toBeLessThan(MAX_BLOCKED_MS);
});

test(`a process that watches ${COUNT} EtcdClusters and ${COUNT} ReplicaSets of the largest size keeps to the memory limit`, async () => {
  await createClusters();
  await createReplicaSets();
  const end = await runChild(join(import.meta.dirname, "../kit/hostile/cache-child.ts"), [], {
    env: { KUBECONFIG: server.kubeconfig },
    timeoutMs: 240_000,
  });
  expect(end.code, end.stderr).toBe(0);
  const { sizes } = JSON.parse(end.stdout) as { sizes: Record<string, number> };
  // Objects of the tests before may be there, too.
  expect(sizes.clusters).toBeGreaterThanOrEqual(COUNT);
  expect(sizes.replicaSets).toBeGreaterThanOrEqual(COUNT);
  expect(end.peakMb).toBeLessThan(MAX_MEMORY_MB);
}, 600_000);
