import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { CallReport } from "#etcd/client.ts";
import type { Observation } from "#kube/call.ts";
import type { Metrics } from "#runtime/metrics.ts";
import type { Counting, CountingCaches, PastCounts } from "./past-counts.ts";

// Metrics from counters inside the process. Names as in runtime/metrics.ts.

const PREFIX = "etcd_operator_";
/** Buckets in seconds: from a fast answer of a nearby member to a call that reaches its deadline. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** World with its own statistics: of everything, or of one shard. */
interface Source extends Counting {
  readonly controllers: readonly {
    readonly name: string;
    readonly waiting: { readonly depth: number; readonly ageMs: number };
  }[];
  readonly pool: { readonly size: number };
}

interface Sources {
  readonly worlds: readonly Source[];
  readonly caches: readonly CountingCaches[];
  readonly past: PastCounts;
  leads(): readonly { readonly shard: number | undefined; readonly isLed: boolean }[];
}

/** Metrics of the duration of requests. */
export function requestTimes(registry: Registry) {
  const registers = [registry];
  const kube = new Histogram({
    name: `${PREFIX}kube_request_duration_seconds`,
    help: "Duration of requests to the API server, without the time in the client's queue; of a watch, until its stream began.",
    labelNames: ["verb"],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const etcd = new Histogram({
    name: `${PREFIX}etcd_request_duration_seconds`,
    help: "Duration of requests to etcd members.",
    labelNames: ["method"],
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const webhooks = new Counter({
    name: `${PREFIX}webhook_requests_total`,
    help: "Requests to the operator's webhooks, by the HTTP status of the answer; a refusal is an answer like any other.",
    labelNames: ["path", "code"],
    registers,
  });
  return {
    webhook: (path: string, code: string) => webhooks.inc({ path, code }),
    kube: ({ verb, durationMs }: Observation) => kube.observe({ verb }, durationMs / 1_000),
    etcd: ({ method, durationMs }: CallReport) => etcd.observe({ method }, durationMs / 1_000),
  };
}

/**
 * Exports metrics that are read from counters when they are scraped. With several shards it exports their sum. Counters
 * include shards that this process no longer leads, so that they never decrease.
 * @param sourcesNow undefined while the process starts
 */
export function exportStatistics(metrics: Metrics, isSharded: boolean, sourcesNow: () => Sources | undefined): void {
  const { registry, leading, watchRestarts, queueDepth, queueAgeSeconds } = metrics;
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers: [registry] });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers: [registry] });
  const objects = gauge("cache_objects", "Objects in each cache.", ["resource"]);
  const reads = counter("cache_full_reads_total", "Reads of the whole state by each cache.", ["resource"]);
  const lastEvent = gauge(
    "cache_last_event_timestamp_seconds",
    "When each cache last received something from the API server, since 1970; 0 before that.",
    ["resource"],
  );
  const listenerFailures = counter(
    "cache_listener_failures_total",
    "Changes of cached objects at which a listener of a controller threw an error.",
    ["resource"],
  );
  const events = counter("events_total", "Kubernetes events that the operator recorded, by outcome.", ["outcome"]);
  const connections = gauge("etcd_connections", "Pooled connections to etcd members.", []);
  const shardLeading = isSharded
    ? gauge("shard_leading", "1 while this process leads the shard of this number, else 0.", ["shard"])
    : undefined;
  const sums = [objects, reads, listenerFailures, watchRestarts, events, queueDepth];
  const collect = (): void => {
    for (const each of [...sums, lastEvent, queueAgeSeconds]) each.reset();
    connections.set(0);
    const sources = sourcesNow();
    if (sources === undefined) return;
    const { past } = sources;
    for (const [outcome, count] of past.events) events.inc({ outcome }, count);
    for (const [resource, count] of past.reads) reads.inc({ resource }, count);
    for (const [resource, count] of past.listenerFailures) listenerFailures.inc({ resource }, count);
    for (const [resource, restarts] of past.restarts)
      for (const [reason, count] of restarts) watchRestarts.inc({ resource, reason }, count);
    const ages = new Map<string, number>();
    const heardAtMs = new Map<string, number>();
    for (const { controllers, events: recorder, pool } of sources.worlds) {
      connections.inc(pool.size);
      for (const { name, waiting } of controllers) {
        queueDepth.inc({ controller: name }, waiting.depth);
        ages.set(name, Math.max(waiting.ageMs, ages.get(name) ?? 0));
      }
      for (const [outcome, count] of Object.entries(recorder.stats)) events.inc({ outcome }, count);
    }
    for (const caches of sources.caches) {
      for (const [resource, { stats }] of Object.entries(caches)) {
        objects.inc({ resource }, stats.objects);
        reads.inc({ resource }, stats.syncs);
        listenerFailures.inc({ resource }, stats.listenerFailures);
        heardAtMs.set(resource, Math.min(stats.lastEventAtMs, heardAtMs.get(resource) ?? Number.POSITIVE_INFINITY));
        for (const [reason, count] of Object.entries(stats.restarts)) watchRestarts.inc({ resource, reason }, count);
      }
    }
    for (const [controller, ageMs] of ages) queueAgeSeconds.set({ controller }, ageMs / 1_000);
    for (const [resource, ms] of heardAtMs) lastEvent.set({ resource }, ms / 1_000);
    const leads = sources.leads();
    leading.set(leads.some(({ isLed }) => isLed) ? 1 : 0);
    for (const { shard, isLed } of leads) shardLeading?.set({ shard: String(shard) }, isLed ? 1 : 0);
  };
  // prom-client collects metrics in the order of their creation; the first one collects for all.
  Object.assign(registry.getSingleMetric(`${PREFIX}passes_total`) ?? leading, { collect });
}
