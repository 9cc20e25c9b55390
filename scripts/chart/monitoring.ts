import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { dashboardsConfigMap } from "../monitoring/dashboards.ts";
import { prometheusRule } from "../monitoring/rules.ts";
import type { Manifest } from "../own.ts";
import { mark } from "./template.ts";

/** Names of the marks for labels from values of the chart. */
export const LABELS = { podMonitor: "POD_MONITOR_LABELS", prometheusRule: "RULE_LABELS" };

/** Objects of the chart for monitoring, by the value that enables them. */
export function monitoringObjects(): Readonly<Record<string, readonly Manifest[]>> {
  const rule = prometheusRule();
  const more = { labels: { ...labelsOf(rule), more: mark(LABELS.prometheusRule) } };
  return {
    podMonitor: scraped().map((object) =>
      object.kind === "PodMonitor" ? withMetadata(object, { labels: mark(LABELS.podMonitor) }) : object,
    ),
    prometheusRule: [withMetadata(rule, more)],
    dashboards: [dashboardsConfigMap()],
  };
}

/** The objects of the example by which a Prometheus reads the operator's metrics. */
function scraped(): readonly Manifest[] {
  const text = readFileSync(join(import.meta.dirname, "../../examples/metrics.yaml"), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function labelsOf({ metadata }: Manifest): object {
  return (metadata as { readonly labels?: object }).labels ?? {};
}

function withMetadata(object: Manifest, more: object): Manifest {
  return { ...object, metadata: { ...object.metadata, ...more } };
}
