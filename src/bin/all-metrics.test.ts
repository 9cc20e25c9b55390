import { describe, expect, test } from "vitest";
import { allMetrics } from "./all-metrics.ts";

/** What the registry knows of each metric; prom-client's types leave out the labels. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly labelNames: readonly string[];
}

const { registry } = allMetrics(true, () => undefined).metrics;
const METRICS = registry.getMetricsAsArray() as unknown as readonly Metric[];

const PREFIX = "etcd_operator_";
/** Units other than seconds and bytes, which are Prometheus' base units of time and size. */
const OTHER_UNITS =
  /_(ns|us|ms|nanoseconds|microseconds|milliseconds|minutes|hours|days|kilobytes|megabytes|gigabytes|ki?b|mi?b|gi?b|bits|percent)(_|$)/;
/** Words that Prometheus reserves for parts of histograms or for types. */
const RESERVED = /_(sum|count|bucket|info|created|gauge|counter|histogram|summary)(_|$)/;

/** What breaks Prometheus' naming rules (https://prometheus.io/docs/practices/naming); undefined: nothing. */
function wrongName({ name, type }: Pick<Metric, "name" | "type">): string | undefined {
  if (!name.startsWith(PREFIX)) return `it must begin with ${PREFIX}`;
  if (!/^[a-z]+(_[a-z]+)*$/.test(name)) return "it must be lower-case words";
  const bare = name.replace(/_total$/, "");
  if ((type === "counter") !== (bare !== name)) return "counters end with _total, and nothing else does";
  if (type === "summary") return "it must be a histogram: summaries of replicas cannot be added";
  if (OTHER_UNITS.test(name)) return "it must have a base unit";
  if (RESERVED.test(name)) return "it must not have a reserved word";
  if (/_(seconds|bytes)_/.test(bare)) return "its unit must be its last word before _total";
  if (type === "histogram" && !/_(duration_seconds|bytes)$/.test(bare))
    return "it must have what it measures and the unit";
  if (/_(timestamp|duration)(_|$)/.test(name) && !bare.endsWith("_seconds")) return "its unit is seconds";
  return undefined;
}

describe("the rules for names of metrics refuse", () => {
  test.each<[string, Metric["type"], string]>([
    ["operator_passes_total", "counter", "begin with"],
    ["etcd_operator_Passes_total", "counter", "lower-case"],
    ["etcd_operator__passes_total", "counter", "lower-case"],
    ["etcd_operator_passes", "counter", "_total"],
    ["etcd_operator_events_total", "gauge", "_total"],
    ["etcd_operator_passes_total", "histogram", "_total"],
    ["etcd_operator_pass_duration_seconds", "summary", "histogram"],
    ["etcd_operator_queue_age_ms", "gauge", "base unit"],
    ["etcd_operator_heap_megabytes_total", "counter", "base unit"],
    ["etcd_operator_pass_count", "gauge", "reserved"],
    ["etcd_operator_seconds_waited", "gauge", "last word"],
    ["etcd_operator_bytes_written_total", "counter", "last word"],
    ["etcd_operator_pass_seconds", "histogram", "what it measures"],
    ["etcd_operator_pass_time", "histogram", "what it measures"],
    ["etcd_operator_last_success_timestamp", "gauge", "seconds"],
  ])("%s as a %s", (name, type, why) => expect(wrongName({ name, type })).toContain(why));
});

test.each(METRICS.map((metric) => [metric.name, metric] as const))("%s has a name by the rules", (_, metric) => {
  expect(wrongName(metric)).toBeUndefined();
});

test.each(METRICS.map((metric) => [metric.name, metric] as const))("%s is explained in sentences", (_, { help }) => {
  expect(help).toMatch(/^(\d|[A-Z]).*\.$/s);
});

test.each(METRICS.map((metric) => [metric.name, metric] as const))("%s has labels in lower case", (_, metric) => {
  for (const label of metric.labelNames) expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

test("every kind of metric is registered, and can be scraped before the process has a part to play", async () => {
  expect(new Set(METRICS.map(({ type }) => type))).toEqual(new Set(["counter", "gauge", "histogram"]));
  expect(METRICS.map(({ name }) => name)).toContain("etcd_operator_shard_leading");
  const text = await registry.metrics();
  expect(text).toMatch(/^etcd_operator_leading 0$/m);
  expect(text).not.toMatch(/^etcd_operator_backup_last_success_timestamp_seconds /m);
  expect(text).not.toMatch(/^etcd_operator_shard_leading/m);
});

test("a process without shards has no metric of shards", () => {
  const names = allMetrics(false, () => undefined).metrics.registry.getMetricsAsArray().map(({ name }) => name); // biome-ignore format: one line
  expect(names).not.toContain("etcd_operator_shard_leading");
  expect(names).toHaveLength(METRICS.length - 1);
});
