import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DASHBOARDS, dashboardFiles, dashboardsConfigMap } from "../../scripts/monitoring/dashboards.ts";
import { ALERTS } from "../../scripts/monitoring/rules.ts";
import { allMetrics } from "../../src/bin/all-metrics.ts";

// Alerts and dashboards ask only for metrics that exist.

const table = readFileSync(join(import.meta.dirname, "../kit/tables/etcd-metrics.txt"), "utf8");
const OF_MEMBERS = table.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const registered = allMetrics(true, () => undefined).metrics.registry.getMetricsAsArray();
const OURS = registered.flatMap(({ name, type }) =>
  String(type) === "histogram" ? ["_bucket", "_count", "_sum"].map((part) => name + part) : [name],
);
/** `up` is of Prometheus itself; both processes have the metrics `process_…`. */
const KNOWN = new Set(["up", ...OF_MEMBERS, ...OURS]);
const WORDS = new Set(["and", "bool", "by", "offset", "on", "or", "unless"]);

/** Names of metrics in a query. */
function metricsIn(query: string): readonly string[] {
  const bare = query
    .replace(/"[^"]*"|'[^']*'/g, "")
    .replace(/\{[^}]*\}|\[[^\]]*\]|\b\d+[smhd]\b/g, " ")
    .replace(/\b(by|on) *\([^)]*\)/g, " ");
  return [...bare.matchAll(/\b[a-z_][a-z_0-9]*\b(?! *\()/g)].map(([name]) => name).filter((name) => !WORDS.has(name));
}

test("names of metrics are found in a query, and nothing else", () => {
  const query = 'max by (a, b) (rate(one_total{c=~"d"}[5m])) / on (a) two > 0.5 or three offset 1d unless on (a) four';
  expect(metricsIn(query)).toEqual(["one_total", "two", "three", "four"]);
});

const queries = [
  ...Object.values(ALERTS)
    .flat()
    .map(({ name, severity, expr }) => [`alert ${name} (${severity})`, expr] as const),
  ...DASHBOARDS.flatMap(({ name, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap(({ title, queries }) => queries.map(({ expr }) => [`${name}: ${title}`, expr] as const)),
    ),
  ),
];

test.each(queries)("%s asks for metrics that exist", (_, expr) => {
  const named = metricsIn(expr);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !KNOWN.has(name))).toEqual([]);
});

describe.each(Object.entries(dashboardFiles()))("%s", (file, text) => {
  const { uid, panels } = JSON.parse(text) as {
    uid: string;
    panels: { id: number; title: string; gridPos: Record<"x" | "y" | "w" | "h", number> }[];
  };

  test("has an identity of its own, and panels with titles of their own", () => {
    expect(`${uid}.json`).toBe(file);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });

  test("has panels beside and below each other", () => {
    for (const [n, { gridPos: a, title }] of panels.entries()) {
      expect(a.x + a.w, title).toBeLessThanOrEqual(24);
      for (const { gridPos: b, title: other } of panels.slice(n + 1)) {
        const overlaps = a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
        expect(overlaps, `${title} and ${other}`).toBe(false);
      }
    }
  });
});

test("the ConfigMap holds each dashboard, below the size that the API server accepts", () => {
  const { data } = dashboardsConfigMap() as unknown as { data: Record<string, string> };
  expect(Object.keys(data)).toEqual(["etcd-fleet.json", "etcd-cluster.json"]);
  expect(JSON.stringify(data).length).toBeLessThan(200_000);
});
