import { expect, test } from "vitest";
import type { CacheStats } from "#kube/cache.ts";
import type { EventStats } from "#kube/events.ts";
import { createMetrics } from "#runtime/metrics.ts";
import { PastCounts } from "./past-counts.ts";
import { exportStatistics, requestTimes } from "./statistics.ts";

/** Each number is unique, so that it can be recognised. */
const PODS: Required<CacheStats> = {
  objects: 11,
  syncs: 12,
  restarts: { idle: 13, ended: 14 } as CacheStats["restarts"],
  lastEventAtMs: 15_000,
  listenerFailures: 16,
};
const EVENTS: Required<EventStats> = { created: 21, updated: 22, dropped: 23 };

test("every statistic is exported with its value at the time of the scrape", async () => {
  const metrics = createMetrics();
  let looks = 0;
  const world = {
    caches: { pods: { stats: PODS } },
    controllers: [
      {
        name: "cluster",
        get waiting() {
          return { depth: 40 + ++looks, ageMs: 50_000 };
        },
      },
    ],
    events: { stats: EVENTS },
    pool: { size: 31 },
  };
  exportStatistics(metrics, false, () => ({
    worlds: [world],
    caches: [world.caches],
    past: new PastCounts(),
    leads: () => [{ shard: undefined, isLed: true }],
  }));
  const text = await metrics.registry.metrics();
  const { restarts, lastEventAtMs, ...counts } = PODS;
  const kept = [...Object.values(counts), ...Object.values(restarts), ...Object.values(EVENTS), lastEventAtMs / 1_000];
  for (const value of kept) expect(text).toMatch(new RegExp(`^etcd_operator_\\w+{.*} ${value}$`, "m"));
  expect(text).toMatch(/^etcd_operator_etcd_connections 31$/m);
  expect(text).toMatch(/^etcd_operator_leading 1$/m);
  expect(text).toMatch(/^etcd_operator_queue_age_seconds{controller="cluster"} 50$/m);
  expect(text).not.toContain("shard");
  expect(text).toMatch(/^etcd_operator_queue_depth{controller="cluster"} 41$/m);
  expect(await metrics.registry.metrics()).toMatch(/^etcd_operator_queue_depth{controller="cluster"} 42$/m);
});

test("statistics of shards are summed, ages are the oldest, and counts stay after a shard is given back", async () => {
  const metrics = createMetrics();
  const world = (size: number) => ({
    caches: { pods: { stats: { ...PODS, objects: size, lastEventAtMs: size * 1_000 } } },
    controllers: [{ name: "cluster", waiting: { depth: size, ageMs: size * 1_000 } }],
    events: { stats: EVENTS },
    pool: { size },
  });
  const worlds = [world(3), world(4)];
  const past = new PastCounts();
  exportStatistics(metrics, true, () => ({
    worlds,
    caches: worlds.map(({ caches }) => caches),
    past,
    leads: () => [
      { shard: 0, isLed: false },
      { shard: 1, isLed: worlds.length > 1 },
    ],
  }));
  const of = async () => {
    const text = await metrics.registry.metrics();
    const names = [
      "cache_objects",
      "cache_last_event_timestamp_seconds",
      "queue_depth",
      "queue_age_seconds",
      "etcd_connections",
      "leading",
    ];
    const lines = [...names, "shard_leading"].flatMap(
      (name) => text.match(new RegExp(`^etcd_operator_${name}[{ ].*$`, "gm")) ?? [],
    );
    return lines.map((line) => line.replace("etcd_operator_", ""));
  };
  expect(await of()).toEqual([
    'cache_objects{resource="pods"} 7',
    'cache_last_event_timestamp_seconds{resource="pods"} 3',
    'queue_depth{controller="cluster"} 7',
    'queue_age_seconds{controller="cluster"} 4',
    "etcd_connections 7",
    "leading 1",
    'shard_leading{shard="0"} 0',
    'shard_leading{shard="1"} 1',
  ]);
  const counted = async () => {
    const text = await metrics.registry.metrics();
    const names = ["cache_full_reads_total", "cache_listener_failures_total", "watch_restarts_total", "events_total"];
    return names.flatMap((name) => text.match(new RegExp(`^etcd_operator_${name}[{ ].*$`, "gm")) ?? []);
  };
  const before = await counted();
  expect(before).toContain('etcd_operator_cache_full_reads_total{resource="pods"} 24');
  expect(before.length).toBe(7);
  for (const each of worlds.splice(0)) {
    past.addEvents(each);
    past.addCaches(each.caches);
  }
  expect(await counted()).toEqual(before);
  worlds.push(world(3));
  expect(await counted()).toContain('etcd_operator_events_total{outcome="created"} 63');
  worlds.length = 0;
  expect(await of()).toEqual([
    "etcd_connections 0",
    "leading 0",
    'shard_leading{shard="0"} 0',
    'shard_leading{shard="1"} 0',
  ]);
});

test("durations of requests are exported in seconds", async () => {
  const { registry } = createMetrics();
  const times = requestTimes(registry);
  times.kube({ verb: "get", resource: "pods", code: "200", durationMs: 1_500 });
  times.webhook("/admission/etcdclusters", "200");
  times.etcd({ method: "Status", code: "OK", durationMs: 250, address: "10.0.0.1:2379" });
  const text = await registry.metrics();
  expect(text).toMatch(/^etcd_operator_kube_request_duration_seconds_sum{verb="get"} 1.5$/m);
  expect(text).toMatch(/^etcd_operator_etcd_request_duration_seconds_sum{method="Status"} 0.25$/m);
  expect(text).toMatch(/^etcd_operator_webhook_requests_total{path="\/admission\/etcdclusters",code="200"} 1$/m);
});
