import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import { scheduleMetrics } from "./schedule-metrics.ts";

test("metrics of each EtcdBackupSchedule are exported, and no longer once it is deleted", async () => {
  const registry = new Registry();
  const condition = { type: "BackupReady", status: "True" as const, reason: "BackupCompleted", message: "m" };
  const good = { name: "n", creationTime: "2026-01-01T12:00:00Z" };
  const status = {
    lastSuccessful: good,
    lastVerified: { ...good, creationTime: "2026-01-01T11:00:00Z" },
    conditions: [{ ...condition, observedGeneration: 1, lastTransitionTime: good.creationTime }],
  };
  const never = etcdBackupSchedule({ spec: { suspend: true }, status: {} });
  const other = { ...never, metadata: { ...never.metadata, name: "other" } };
  let all: readonly EtcdBackupSchedule[] = [etcdBackupSchedule({ status }), other];
  scheduleMetrics(registry, () => all);
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => line.startsWith("etcd_"));
  const of = (metric: string, name: string) =>
    `etcd_operator_backup_schedule_${metric}{namespace="foo",name="${name}"}`;
  expect(await lines()).toEqual([
    `${of("last_success_timestamp_seconds", "nightly")} 1767268800`,
    `${of("last_success_timestamp_seconds", "other")} 0`,
    `${of("last_verified_timestamp_seconds", "nightly")} 1767265200`,
    `${of("last_verified_timestamp_seconds", "other")} 0`,
    `${of("ready", "nightly")} 1`,
    `${of("ready", "other")} 0`,
    `${of("suspended", "nightly")} 0`,
    `${of("suspended", "other")} 1`,
  ]);
  all = [];
  expect(await lines()).toEqual([]);
});

test("the progress of change archives is exported only for an EtcdBackupSchedule with an archive", async () => {
  const registry = new Registry();
  const archive = {
    name: "nightly-changes",
    clusterID: "cdf",
    from: "2",
    revision: "70",
    time: "2026-01-01T12:00:00Z",
  };
  const told = { archive: { ...archive, gaps: 1, objects: 3, bytes: 4_096 } };
  const young = etcdBackupSchedule({ name: "young", spec: { archive: {} }, status: {} });
  const all = [
    etcdBackupSchedule({ spec: { archive: {} }, status: told }),
    young,
    etcdBackupSchedule({ name: "none" }),
  ];
  scheduleMetrics(registry, () => all);
  const text = await registry.metrics();
  const lines = text.split("\n").filter((line) => line.includes("schedule_archive_"));
  expect(text).toContain("# TYPE etcd_operator_backup_schedule_archive_revision gauge");
  expect(text).toContain("# TYPE etcd_operator_backup_schedule_archive_bytes_total counter");
  expect(lines.filter((line) => line.startsWith("etcd_"))).toEqual(
    Object.entries({
      end_timestamp_seconds: 1_767_268_800,
      revision: 70,
      objects_total: 3,
      bytes_total: 4_096,
      gaps_total: 1,
    }).flatMap(([metric, value]) => {
      const of = (name: string) => `etcd_operator_backup_schedule_archive_${metric}{namespace="foo",name="${name}"}`;
      return [`${of("nightly")} ${value}`, `${of("young")} 0`];
    }),
  );
});

test("the end of an archive is not exported while the cluster sleeps", async () => {
  const registry = new Registry();
  const time = "2026-01-01T12:00:00Z";
  const ready = { type: "Ready", status: "True" as const, reason: "ClusterAsleep", message: "m" };
  const archive = { name: "n", from: "2", revision: "70", time, gaps: 0 };
  const conditions = [{ ...ready, observedGeneration: 1, lastTransitionTime: time }];
  scheduleMetrics(registry, () => [etcdBackupSchedule({ spec: { archive: {} }, status: { archive, conditions } })]);
  const text = await registry.metrics();
  expect(text).toContain("etcd_operator_backup_schedule_archive_gaps_total{");
  expect(text).not.toContain("etcd_operator_backup_schedule_archive_end_timestamp_seconds{");
});

test("a negative count in a status does not make the scrape fail", async () => {
  const registry = new Registry();
  const archive = { name: "n", gaps: -1, objects: -2, bytes: -3 } as unknown as NonNullable<
    EtcdBackupSchedule["status"]
  >["archive"];
  const status = { archive } as EtcdBackupSchedule["status"] & object;
  scheduleMetrics(registry, () => [etcdBackupSchedule({ spec: { archive: {} }, status })]);
  const counts = (await registry.metrics()).match(/^etcd_operator_\w+_total\{.*$/gm) ?? [];
  expect(counts.map((line) => line.replace(/.* /, ""))).toEqual(["0", "0", "0"]);
});
