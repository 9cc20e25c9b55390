import { expect, test } from "vitest";
import type { CacheStats } from "#kube/cache.ts";
import type { EventStats } from "#kube/events.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";

/** Every number is another one, so that it can be found again. */
const PODS: Required<CacheStats> = {
  objects: 11,
  syncs: 12,
  restarts: { idle: 13, ended: 14 } as CacheStats["restarts"],
  lastEventAtMs: 15_000,
  listenerFailures: 16,
};
const EVENTS: Required<EventStats> = { created: 21, updated: 22, dropped: 23 };

test("every statistic that is kept is exported, as it is at the moment of reading", async () => {
  const metrics = createMetrics();
  let measured = 0;
  exportStatistics(metrics, {
    caches: { pods: { stats: PODS } },
    loops: [{ measure: () => void metrics.queueDepth.set({ controller: "cluster" }, 30 + ++measured) }],
    events: { stats: EVENTS },
    connections: { size: 31 },
    election: { mayAct: () => true },
  });
  const text = await metrics.registry.metrics();
  const { restarts, lastEventAtMs, ...counts } = PODS;
  const kept = [...Object.values(counts), ...Object.values(restarts), ...Object.values(EVENTS), lastEventAtMs / 1_000];
  for (const value of kept) expect(text).toMatch(new RegExp(`^etcd_operator_\\w+{.*} ${value}$`, "m"));
  expect(text).toMatch(/^etcd_operator_etcd_connections 31$/m);
  expect(text).toMatch(/^etcd_operator_leading 1$/m);
  expect(text).toMatch(/^etcd_operator_queue_depth{controller="cluster"} 31$/m);
  expect(await metrics.registry.metrics()).toMatch(/^etcd_operator_queue_depth{controller="cluster"} 32$/m);
});

test("how long requests took is exported, in seconds", async () => {
  const { registry } = createMetrics();
  const times = requestTimes(registry);
  times.kube({ verb: "get", resource: "pods", code: "200", durationMs: 1_500 });
  times.webhook("/admission/etcdclusters", "200");
  times.etcd({ method: "Status", code: "OK", durationMs: 250, address: "10.0.0.1:2379" });
  const text = await registry.metrics();
  expect(text).toMatch(/^etcd_operator_kube_request_seconds_sum{verb="get"} 1.5$/m);
  expect(text).toMatch(/^etcd_operator_etcd_request_seconds_sum{method="Status"} 0.25$/m);
  expect(text).toMatch(/^etcd_operator_webhook_requests_total{path="\/admission\/etcdclusters",code="200"} 1$/m);
});
