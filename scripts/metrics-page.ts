import { allMetrics } from "../src/bin/all-metrics.ts";
import { page, table } from "./pages.ts";

/** What prom-client keeps of a metric; its types leave out the labels. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** Each label with its values. */
const LABELS: Readonly<Record<string, string>> = {
  check: "Name of the waived check.",
  cluster: "Name of the EtcdCluster.",
  code: "Result of a request: an HTTP status, or `OK` or an error code of the operator. Without an answer of the API server: `unsent`, `broken`, `timeout` or `cancelled`.",
  controller: "`cluster`, `peer`, `backup`, `schedule`, `restore`, `role` or `user`.",
  kind: "`notice`, `refused` or `delayed`.",
  member: "Name of the member.",
  method: "gRPC method, such as `MemberList`.",
  name: "Name of the object: of the Secret in metrics of certificates, otherwise of the object that the metric is about.",
  namespace: "Namespace of the object.",
  outcome:
    "Of a step: `done`, `conflict` (the object has changed), `notNow` (etcd asked for a later retry) or `failed`. Of an event: `created`, `updated` or `dropped`.",
  path: "Path of the webhook.",
  phase: "Phase of the EtcdBackup.",
  reason: "Why a watch was restarted, or the reason of a condition.",
  resource: "Plural name of the Kubernetes resource, such as `pods`.",
  result:
    "`ok`; `conflict`: an object had changed, and the pass is repeated; `failed`: the object could not be observed; `error`: the pass threw an error.",
  rule: "Name of the [rule or guard](rules.md). These names may change in each release.",
  shard: "Number of the shard, from 0.",
  status: "Status of the condition: `True`, `False` or `Unknown`.",
  type: "[Condition](conditions.md) of the EtcdCluster.",
  user: "Name of the EtcdUser; empty for a certificate of the EtcdCluster itself.",
  verb: "`get`, `list`, `watch`, `create`, `apply`, `replace`, `patch`, `delete`, or `raw` for paths that are no resource.",
  zone: "Zone of the member's node: the label `topology.kubernetes.io/zone` of its pod, which Kubernetes sets from 1.35 on. Without it there is no label.",
};

/** The page with all metrics. @throws Error when a label is not explained, or explained and never used */
export function metricsPage(): string {
  const { registry } = allMetrics(true, () => undefined).metrics;
  const metrics = registry.getMetricsAsArray() as unknown as readonly Metric[];
  const used = new Set(metrics.flatMap(({ labelNames }) => labelNames));
  const wrong = [...new Set([...used, ...Object.keys(LABELS)])].filter(
    (label) => !used.has(label) || !(label in LABELS),
  );
  if (wrong.length > 0)
    throw new Error(`scripts/metrics-page.ts must explain exactly the labels in use; see ${wrong}.`);
  const rows = metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labelNames, help }) => [
      `\`${name}\``,
      type,
      labelNames.map((label) => `\`${label}\``).join(", "),
      help,
    ]);
  return page(
    "Metrics",
    "What `/metrics` shows, beside the `process_…` and `nodejs_…` metrics of prom-client. Access and alerts: [install](../install.md#metrics-and-alerts). What stays: [compatibility](compatibility.md).",
    table(["metric", "type", "labels", "what it is"], rows),
    "## Labels",
    table(
      ["label", "values"],
      Object.entries(LABELS).map(([label, values]) => [`\`${label}\``, values]),
    ),
  );
}
