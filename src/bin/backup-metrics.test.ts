import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { EtcdBackup, EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import { etcdBackup, STORED } from "#kit/snapshots/etcd-backup.ts";
import { backupMetrics } from "./backup-metrics.ts";

function completed(completionTime: string, bytes: number): EtcdBackupStatus {
  const { key: _, startedAt: _s, completedAt: _c, ...object } = STORED;
  return { phase: "Completed", startTime: "2026-01-01T00:00:00Z", completionTime, object: { ...object, bytes } };
}

async function exported(
  statuses: readonly EtcdBackupStatus[],
  ended: readonly EtcdBackupStatus[] = [],
): Promise<string> {
  const registry = new Registry();
  const all: readonly EtcdBackup[] = statuses.map((status) => etcdBackup({ status }));
  const onEnd = backupMetrics(registry, () => all);
  for (const status of ended) onEnd(status);
  return await registry.metrics();
}

test("the time of the newest completed backup and the number in each phase are exported", async () => {
  const text = await exported([
    completed("2026-01-02T00:00:00Z", 7),
    completed("2026-01-01T00:00:00Z", 5),
    { phase: "Failed", completionTime: "2026-01-03T00:00:00Z" },
    { phase: "BackingUp" },
    {},
  ]);
  expect(text).toContain(`etcd_operator_backup_last_success_timestamp_seconds ${Date.UTC(2026, 0, 2) / 1_000}\n`);
  expect(text).toContain("etcd_operator_backup_last_success_bytes 7\n");
  for (const line of ['{phase="BackingUp"} 1', '{phase="Completed"} 2', '{phase="Failed"} 1'])
    expect(text).toContain(`etcd_operator_backups${line}\n`);
});

test("the time of the newest verified backup and the number with each verdict are exported", async () => {
  const found = (at: string, status: "True" | "False" | "Unknown"): EtcdBackupStatus => {
    const condition = { type: "Verified", status, reason: "Verified", message: "", observedGeneration: 1 };
    return { ...completed(at, 5), conditions: [{ ...condition, lastTransitionTime: "2026-01-09T00:00:00Z" }] };
  };
  const text = await exported([
    found("2026-01-02T00:00:00Z", "True"),
    found("2026-01-01T00:00:00Z", "True"),
    found("2026-01-03T00:00:00Z", "False"),
    found("2026-01-04T00:00:00Z", "Unknown"),
    completed("2026-01-05T00:00:00Z", 5),
  ]);
  expect(text).toContain(`etcd_operator_backup_last_verified_timestamp_seconds ${Date.UTC(2026, 0, 2) / 1_000}\n`);
  for (const line of ['{status="True"} 2', '{status="False"} 1', '{status="Unknown"} 1'])
    expect(text).toContain(`etcd_operator_backups_verified${line}\n`);
});

test("without a completed or verified backup the exported times and size are 0", async () => {
  const text = await exported([{ phase: "Failed" }]);
  expect(text).toContain("etcd_operator_backup_last_success_timestamp_seconds 0\n");
  expect(text).toContain("etcd_operator_backup_last_success_bytes 0\n");
  expect(text).toContain("etcd_operator_backup_last_verified_timestamp_seconds 0\n");
});

test("backups of other processes are not exported, even when this process had them before", async () => {
  const registry = new Registry();
  let all: readonly EtcdBackup[] | undefined = [etcdBackup({ status: completed("2026-01-02T00:00:00Z", 7) })];
  backupMetrics(registry, () => all);
  const lines = async () => (await registry.metrics()).match(/^etcd_operator_backup(s|_last).*$/gm) ?? [];
  const known = await lines();
  expect(known.length).toBe(9);
  all = undefined;
  expect(await lines()).toEqual([]);
  all = [etcdBackup({ status: completed("2026-01-02T00:00:00Z", 7) })];
  expect(await lines()).toEqual(known);
});

test("ended backups are counted by reason, and completed ones have their duration exported", async () => {
  const failed = { type: "Failed", status: "True" as const, reason: "NoSpace", message: "", observedGeneration: 1 };
  const conditions = [{ ...failed, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const text = await exported([], [completed("2026-01-01T00:00:20Z", 5), { phase: "Failed", conditions }]);
  expect(text).toContain('etcd_operator_backups_ended_total{phase="Failed",reason="NoSpace"} 1\n');
  expect(text).toContain('etcd_operator_backups_ended_total{phase="Completed",reason=""} 1\n');
  expect(text).toContain("etcd_operator_backup_duration_seconds_sum 20\n");
  expect(text).toContain("etcd_operator_backup_duration_seconds_count 1\n");
});
