import { CLUSTER, PEER } from "./alert.ts";
import type { Dashboard, Panel, Query } from "./panel.ts";

/** Selects the operator's metrics of the chosen cluster, and the metrics of its members. */
const CHOSEN = 'namespace="$namespace", name="$name"';
const MEMBERS = `namespace="$namespace", ${CLUSTER}="$name"`;
const MEMBER = `{{${PEER}}}`;

const known = (metric: string) => `max(etcd_operator_cluster_${metric}{${CHOSEN}})`;
const stat = (title: string, expr: string, unit: Panel["unit"] = "short", legend = title): Panel => ({
  title,
  kind: "stat",
  unit,
  queries: [{ expr, legend }],
});
const series = (title: string, unit: Panel["unit"], ...queries: readonly Query[]): Panel => ({
  title,
  kind: "series",
  unit,
  queries,
});
const each = (metric: string, legend = MEMBER): Query => ({ expr: `max by (${PEER}) (${metric}{${MEMBERS}})`, legend });
const rate = (metric: string, legend = MEMBER): Query => ({
  expr: `sum by (${PEER}) (rate(${metric}{${MEMBERS}}[5m]))`,
  legend,
});
const p99 = (metric: string): Query => ({
  expr: `histogram_quantile(0.99, sum by (le, ${PEER}) (rate(${metric}_bucket{${MEMBERS}}[5m])))`,
  legend: MEMBER,
});

export const CLUSTER_DASHBOARD: Dashboard = {
  name: "etcd-cluster",
  title: "etcd cluster",
  variables: [
    { name: "namespace", label: "Namespace", query: "label_values(etcd_operator_cluster_members_wanted, namespace)" },
    {
      name: "name",
      label: "EtcdCluster",
      query: 'label_values(etcd_operator_cluster_members_wanted{namespace="$namespace"}, name)',
    },
  ],
  rows: [
    {
      title: "What the operator sees",
      panels: [
        stat("Members wanted", known("members_wanted")),
        stat("Healthy voters", known("members_healthy")),
        stat("Voters that may be lost", known("quorum_margin")),
        stat("Leader", `max by (${PEER}) (etcd_server_is_leader{${MEMBERS}}) == 1`, "short", MEMBER),
        stat("Since the last check", `time() - ${known("last_check_timestamp_seconds")}`, "s"),
        stat("Leader changes since the operator started", known("leader_changes_total")),
        {
          title: "Conditions that are not normal",
          kind: "table",
          unit: "short",
          queries: [
            {
              expr: `max by (type, status, reason) (etcd_operator_cluster_abnormal_condition{${CHOSEN}})`,
              legend: "{{type}}",
            },
          ],
        },
        series("Health of members", "short", {
          expr: `max by (member, zone) (etcd_operator_member_healthy{${CHOSEN}})`,
          legend: "{{member}} {{zone}}",
        }),
        series(
          "Databases",
          "bytes",
          { expr: `max by (member) (etcd_operator_member_database_bytes{${CHOSEN}})`, legend: "{{member}}" },
          {
            expr: `max by (member) (etcd_operator_member_database_in_use_bytes{${CHOSEN}})`,
            legend: "{{member}} in use",
          },
          { expr: known("database_quota_bytes"), legend: "quota" },
        ),
        series("Certificates: time left", "s", {
          expr: `max by (name) (etcd_operator_certificate_not_after_timestamp_seconds{namespace="$namespace", cluster="$name"}) - time()`,
          legend: "{{name}}",
        }),
      ],
    },
    {
      title: "Disks and network of members",
      panels: [
        series("99th percentile of fsync", "s", p99("etcd_disk_wal_fsync_duration_seconds")),
        series("99th percentile of commits", "s", p99("etcd_disk_backend_commit_duration_seconds")),
        series(
          "99th percentile of the round trip between members",
          "s",
          p99("etcd_network_peer_round_trip_time_seconds"),
        ),
        series(
          "Traffic of clients",
          "Bps",
          rate("etcd_network_client_grpc_received_bytes_total", `${MEMBER} received`),
          rate("etcd_network_client_grpc_sent_bytes_total", `${MEMBER} sent`),
        ),
      ],
    },
    {
      title: "Requests and raft",
      panels: [
        series("Requests", "reqps", {
          expr: `sum by (grpc_method, grpc_code) (rate(grpc_server_handled_total{${MEMBERS}, grpc_type="unary"}[5m])) > 0`,
          legend: "{{grpc_method}} {{grpc_code}}",
        }),
        series("Leader changes", "short", {
          expr: `max by (${PEER}) (increase(etcd_server_leader_changes_seen_total{${MEMBERS}}[5m]))`,
          legend: MEMBER,
        }),
        series("Entries that are committed and not applied", "short", {
          expr: `max by (${PEER}) (etcd_server_proposals_committed_total{${MEMBERS}} - etcd_server_proposals_applied_total{${MEMBERS}})`,
          legend: MEMBER,
        }),
        series(
          "Proposals",
          "reqps",
          rate("etcd_server_proposals_committed_total", `${MEMBER} committed`),
          rate("etcd_server_proposals_failed_total", `${MEMBER} failed`),
        ),
        series("Memory", "bytes", each("process_resident_memory_bytes")),
        series("Processors", "short", rate("process_cpu_seconds_total")),
      ],
    },
  ],
};
