import { BY_NAME, ofEach } from "./alert.ts";
import type { Dashboard, Panel } from "./panel.ts";

const NAME = "{{namespace}}/{{name}}";
/** Processes of the operator, among all that Prometheus scrapes. */
const ours = "and on (instance) etcd_operator_leading";

const stat = (title: string, expr: string): Panel => ({
  title,
  kind: "stat",
  unit: "short",
  queries: [{ expr, legend: title }],
});
const counted = (title: string, expr: string): Panel => stat(title, `count(${expr}) or vector(0)`);
const series = (title: string, unit: Panel["unit"], expr: string, legend: string): Panel => ({
  title,
  kind: "series",
  unit,
  queries: [{ expr, legend }],
});
const notReady = 'etcd_operator_cluster_abnormal_condition{type="Ready"}';

export const FLEET: Dashboard = {
  name: "etcd-fleet",
  title: "etcd clusters",
  variables: [],
  rows: [
    {
      title: "Health of clusters",
      panels: [
        counted("Clusters", ofEach("cluster_members_wanted")),
        counted("Not Ready", `max ${BY_NAME} (${notReady})`),
        counted("Without a quorum", `${ofEach("cluster_quorum_margin")} < 0`),
        counted("Updates stopped", ofEach("cluster_update_stopped")),
        counted("Paused", ofEach("cluster_paused")),
        counted("Sleeping", ofEach("cluster_sleeping")),
        {
          title: "Members",
          kind: "series",
          unit: "short",
          queries: [
            { expr: `sum(${ofEach("cluster_members_wanted")})`, legend: "wanted" },
            { expr: `sum(${ofEach("cluster_members_healthy")})`, legend: "healthy" },
          ],
        },
        series(
          "Conditions that are not normal",
          "short",
          `count by (type, reason) (max by (namespace, name, type, reason) (etcd_operator_cluster_abnormal_condition))`,
          "{{type}}: {{reason}}",
        ),
        series("Least quorum margins", "short", `bottomk(10, ${ofEach("cluster_quorum_margin")})`, NAME),
        series(
          "Databases closest to their quota",
          "percentunit",
          `topk(10, ${ofEach("member_database_bytes")} / ${ofEach("cluster_database_quota_bytes")})`,
          NAME,
        ),
      ],
    },
    {
      title: "Backups and certificates",
      panels: [
        series(
          "Oldest last backups of schedules",
          "s",
          `topk(10, time() - (${ofEach("backup_schedule_last_success_timestamp_seconds")} > 0))`,
          NAME,
        ),
        series(
          "Archives that are furthest behind",
          "s",
          `topk(10, time() - (${ofEach("backup_schedule_archive_end_timestamp_seconds")} > 0))`,
          NAME,
        ),
        series(
          "Certificates that end first",
          "s",
          "bottomk(10, max by (namespace, name) (etcd_operator_certificate_not_after_timestamp_seconds) - time())",
          NAME,
        ),
        series("Quarantined claims", "short", `topk(10, ${ofEach("quarantined_claims")})`, NAME),
      ],
    },
    {
      title: "Operator",
      panels: [
        stat("Replicas that lead", "sum(etcd_operator_leading)"),
        stat("Oldest waiting object, in seconds", "max(etcd_operator_queue_age_seconds)"),
        series(
          "Passes",
          "reqps",
          "sum by (controller, result) (rate(etcd_operator_passes_total[5m]))",
          "{{controller}} {{result}}",
        ),
        series("Steps", "reqps", "sum by (rule) (rate(etcd_operator_steps_total[5m])) > 0", "{{rule}}"),
        series(
          "99th percentile of passes",
          "s",
          "histogram_quantile(0.99, sum by (le, controller) (rate(etcd_operator_pass_duration_seconds_bucket[5m])))",
          "{{controller}}",
        ),
        series("Objects that wait", "short", "sum by (controller) (etcd_operator_queue_depth)", "{{controller}}"),
        series(
          "Requests to the API server",
          "reqps",
          "sum by (verb, code) (rate(etcd_operator_kube_requests_total[5m]))",
          "{{verb}} {{code}}",
        ),
        series(
          "Requests to members",
          "reqps",
          "sum by (method, code) (rate(etcd_operator_etcd_requests_total[5m]))",
          "{{method}} {{code}}",
        ),
        series("Memory", "bytes", `process_resident_memory_bytes ${ours}`, "{{instance}}"),
        series("Processors", "short", `rate(process_cpu_seconds_total[5m]) ${ours}`, "{{instance}}"),
      ],
    },
  ],
};
