import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import { Monitoring } from "#cluster/exposure/monitoring.ts";
import { podMonitorRule } from "#cluster/exposure/rules/pod-monitor.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { POD_MONITOR_DEFINITION } from "#kit/pods/pod-monitor.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "#kit/tables/kinds.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import { POD_MONITORS } from "#kube/kinds.ts";

// The optional PodMonitor, with a real API server that serves the kind only from some moment on.

const OPTIONS = { signal: new AbortController().signal };
const REF = { namespace: "default", name: "my-etcd" };
const clock = new FakeClock();
let server: ApiServer;
let asked: string[] = [];
let monitoring: Monitoring;
let live: EtcdCluster;

beforeAll(async () => {
  server = await startApiServer();
  const { client } = server;
  const raw: KubeClient["raw"] = (method, path, options) => {
    asked.push(path);
    return client.raw(method, path, options);
  };
  monitoring = new Monitoring({ raw, find: client.find.bind(client) }, clock);
  const { cluster: made } = cluster();
  live = { ...made, metadata: { ...made.metadata, namespace: "default" } };
});
afterAll(async () => await server?.stop());

/** Sets spec.monitoring.podMonitor of the cluster. */
function wish(enabled: boolean, labels: Record<string, string> = {}): void {
  live = { ...live, spec: { ...live.spec, monitoring: { podMonitor: { enabled, metadata: { labels } } } } };
}

/** Reconciles a few times, a minute apart. @returns the condition after that */
async function settle(): Promise<string | undefined> {
  for (let turn = 0; turn < 5; turn++) {
    await clock.advance(60_000);
    const snapshot: ClusterSnapshot = {
      ...cluster(),
      cluster: live,
      podMonitor: await monitoring.look(live, OPTIONS.signal),
    };
    const plan = podMonitorRule.decide(snapshot);
    if (plan?.next === "step") {
      monitoring.forget(REF);
      const writes = { kube: server.client, etcd: {} } as unknown as ClusterWrites;
      await actOnCluster(writes, plan.step, snapshot, OPTIONS.signal);
    }
    live = { ...live, status: clusterStatus(snapshot, { next: "settled" }) };
  }
  const told = live.status?.conditions?.find(({ type }) => type === "Monitored");
  return told === undefined ? undefined : `${told.status} ${told.reason}`;
}

test("while the kind PodMonitor is not served, a condition reports it, and the operator tries again every five minutes", async () => {
  wish(true);
  asked = [];
  expect(await settle()).toBe("False MonitorsNotServed");
  expect(asked).toEqual(["/apis"]);
});

test("when the kind PodMonitor is served, a PodMonitor is created", async () => {
  await server.client.create(CUSTOM_RESOURCE_DEFINITIONS, POD_MONITOR_DEFINITION, OPTIONS);
  await vi.waitFor(() => server.client.list(POD_MONITORS, {}, OPTIONS), { timeout: 60_000 });
  expect(await settle()).toBe("True Monitored");
  const made = await server.client.get(POD_MONITORS, REF, OPTIONS);
  expect(made.spec?.podMetricsEndpoints).toEqual([{ port: "etcd-metrics", path: "/metrics" }]);
  expect(made.metadata.ownerReferences).toMatchObject([{ kind: "EtcdCluster", name: "my-etcd", controller: true }]);
});

test("an edited PodMonitor is restored, and labels that people add are kept", async () => {
  const edit = {
    metadata: { labels: { release: "prometheus" } },
    spec: { podMetricsEndpoints: [{ port: "other" }], namespaceSelector: { any: true } },
  };
  const { metadata } = await server.client.patch(POD_MONITORS, REF, edit, { ...OPTIONS, type: "merge" });
  expect(await settle()).toBe("True Monitored");
  const now = await server.client.get(POD_MONITORS, REF, OPTIONS);
  expect(now.spec?.podMetricsEndpoints).toEqual([{ port: "etcd-metrics", path: "/metrics" }]);
  expect(now.spec).not.toHaveProperty("namespaceSelector");
  expect(now.metadata).toMatchObject({ uid: metadata.uid, labels: { release: "prometheus" } });
});

test("labels of the spec are set, and removed with the spec, while labels of people are kept", async () => {
  wish(true, { team: "db" });
  expect(await settle()).toBe("True Monitored");
  const labelled = await server.client.get(POD_MONITORS, REF, OPTIONS);
  expect(labelled.metadata.labels).toMatchObject({ team: "db", release: "prometheus" });
  wish(true);
  expect(await settle()).toBe("True Monitored");
  const { metadata } = await server.client.get(POD_MONITORS, REF, OPTIONS);
  expect(metadata.labels).toMatchObject({ release: "prometheus" });
  expect(metadata.labels).not.toHaveProperty("team");
});

test("a deleted PodMonitor is recreated, and a disabled PodMonitor is deleted without further requests", async () => {
  const { metadata } = await server.client.get(POD_MONITORS, REF, OPTIONS);
  const preconditions = { uid: metadata.uid };
  await server.client.delete(POD_MONITORS, REF, { ...OPTIONS, preconditions });
  expect(await settle()).toBe("True Monitored");
  wish(false);
  expect(await settle()).toBe("False NotMonitored");
  expect(await server.client.find(POD_MONITORS, REF, OPTIONS)).toEqual({ is: "absent" });
  asked = [];
  await clock.advance(600_000);
  expect(await settle()).toBe("False NotMonitored");
  expect(asked).toEqual([]);
});

test("a foreign PodMonitor with the cluster's name is not changed", async () => {
  const theirs = await server.client.create(
    POD_MONITORS,
    { apiVersion: "monitoring.coreos.com/v1", kind: "PodMonitor", metadata: REF },
    OPTIONS,
  );
  wish(true);
  expect(await settle()).toBe("False NameTaken");
  wish(false);
  expect(await settle()).toBe("False NotMonitored");
  const now = await server.client.get(POD_MONITORS, REF, OPTIONS);
  expect(now.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
});
