import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { etcdBackupSchedule } from "#kit/schedule.ts";
import { scheduleMetrics } from "./schedule-metrics.ts";

test("each schedule has its lines, and none when it is gone", async () => {
  const registry = new Registry();
  const condition = { type: "BackupReady", status: "True" as const, reason: "BackupCompleted", message: "m" };
  const good = { name: "n", time: "2026-01-01T12:00:00Z" };
  const status = {
    lastSuccessful: good,
    lastVerified: { ...good, time: "2026-01-01T11:00:00Z" },
    conditions: [{ ...condition, observedGeneration: 1, lastTransitionTime: good.time }],
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
