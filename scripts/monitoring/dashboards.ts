import { type Manifest, own } from "../own.ts";
import { CLUSTER_DASHBOARD } from "./cluster-dashboard.ts";
import { FLEET } from "./fleet-dashboard.ts";
import { grafanaDashboard } from "./panel.ts";

/** All dashboards, for the list of their queries. */
export const DASHBOARDS = [FLEET, CLUSTER_DASHBOARD] as const;

/** The text of each dashboard for Grafana, by the name of its file. */
export function dashboardFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    DASHBOARDS.map((dashboard) => [
      `${dashboard.name}.json`,
      `${JSON.stringify(grafanaDashboard(dashboard), undefined, 2)}\n`,
    ]),
  );
}

/**
 * The dashboards in a ConfigMap, which Grafana's sidecar reads by this label
 * (https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards). Legends have `{{ … }}`,
 * which Helm must not evaluate.
 */
export function dashboardsConfigMap(): Manifest {
  const metadata = own("etcd-dashboards");
  const labels = { ...(metadata as { labels?: object }).labels, grafana_dashboard: "1" };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, labels } as Manifest["metadata"],
    data: dashboardFiles(),
  };
}
