import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CLIENT_PORT, clientServiceName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import { instance, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { freezeProxy } from "#kit/e2e/load-accidents.ts";
import { Cache } from "#kube/cache.ts";
import { KubeClient } from "#kube/client.ts";
import { defaultConfig } from "#kube/config.ts";

/** From the moment at which a watch shows that a cluster is Ready, in milliseconds. */
const ANSWERED_WITHIN_MS = 2_000;

const ETCDCTL = join(dirname(mainBinary("etcd-3.6.16")), "etcdctl");

/** Half of the clusters have one member: their Service has no other member to route to. */
const REPLICAS = [1, 3, 1, 3, 1, 3];

/** A new client writes through the client Service's name, as documented. @returns milliseconds until the answer */
async function firstWrite({ namespace, name }: UserCluster): Promise<number> {
  const endpoint = `http://${clientServiceName(name)}.${namespace}.svc.cluster.local:${CLIENT_PORT}`;
  const sinceMs = performance.now();
  await run(ETCDCTL, [`--endpoints=${endpoint}`, "--command-timeout=60s", "put", "who", "a new client"]);
  return performance.now() - sinceMs;
}

test("each of six clusters created at once serves new clients through its client Service when Ready is True", async () => {
  await using namespace = await testNamespace("ready");
  const kube = new KubeClient({ config: await defaultConfig(), userAgent: "test-ready" });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const watched = new Cache<EtcdCluster>({ client: kube, resource: ETCD_CLUSTERS, namespace: namespace.name });
  watched.start(stop.signal);
  await watched.whenSynced(stop.signal);
  const clusters = REPLICAS.map((_, n) => new UserCluster(namespace.name, `cluster-${n}`));
  const answers = clusters.map((cluster) => {
    const ready = Promise.withResolvers<void>();
    watched.onChange(({ object }) => {
      const isReady = object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      if (object.metadata.name === cluster.name && isReady === true) ready.resolve();
    });
    return ready.promise.then(() => firstWrite(cluster));
  });
  await Promise.all(clusters.map((cluster, n) => cluster.create({ replicas: REPLICAS[n]! })));
  const tookMs = await Promise.all(answers);
  console.log(`first answers after ${tookMs.map((ms) => `${Math.round(ms)} ms`).join(", ")}`);
  expect(tookMs.filter((ms) => ms > ANSWERED_WITHIN_MS)).toEqual([]);
});

test("a cluster with healthy members is not Ready while its client Service has no working route", async () => {
  await using namespace = await testNamespace("ready");
  const cluster = new UserCluster(namespace.name);
  {
    using _frozen = await freezeProxy(instance);
    await cluster.create({ replicas: 1 });
    const { status } = await cluster.untilCondition("Ready", "False", "ClientServiceSilent");
    expect(status?.readyMembers).toBe("1/1");
    expect(status?.conditions?.find(({ type }) => type === "Available")?.status).toBe("True");
  }
  await cluster.untilReady();
  expect(await firstWrite(cluster)).toBeLessThan(ANSWERED_WITHIN_MS);
});
