import type { BackupReason } from "#api/conditions.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import { doublingPauseMs } from "#base/backoff.ts";

/**
 * Reasons of failures that may pass without a change of the spec, a Secret's content or the store's settings. With any
 * other reason a repetition would fail again. After DeadlineExceeded it would also load etcd again.
 */
const PASSING: readonly string[] = [
  "Waiting",
  "StepRefused",
  "NameTaken",
  "ClusterNotFormed",
  "NoQuorum",
  "PodPending",
  "PodRefused",
  "SecretMissing",
  "ImageUnavailable",
  "AgentFailed",
  "SourceUnreachable",
  "SnapshotCorrupt",
  "AnotherAttempt",
  "StoreUnreachable",
  "Stopped",
  "Internal",
] satisfies readonly BackupReason[];

/**
 * Shortest pause after a failed run, in milliseconds: its pods have tried for minutes. Later pauses are as long as the
 * time since the due time: 10, 20, 40 minutes and so on.
 */
const LEAST_PAUSE_MS = 10 * 60_000;

/**
 * When a failed run may be repeated, in milliseconds since 1970; `undefined` when a repetition cannot help.
 * @param dueMs due time of the run
 */
export function repeatAtMs({ status }: EtcdBackup, dueMs: number): number | undefined {
  const reason = status?.conditions?.find(({ type }) => type === "Failed")?.reason;
  if (status?.phase !== "Failed" || reason === undefined || !PASSING.includes(reason)) return undefined;
  const failedMs = Date.parse(status.completionTime ?? "");
  if (Number.isNaN(failedMs)) return undefined;
  const atMs = failedMs + doublingPauseMs(failedMs - dueMs, { leastMs: LEAST_PAUSE_MS });
  return Math.floor(atMs / 1_000) * 1_000; // The name has whole seconds.
}
