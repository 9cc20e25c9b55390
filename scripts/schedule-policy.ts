import { GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { admissionPolicyNamed } from "./policy.ts";

/**
 * Warning at the creation of an EtcdBackupSchedule that never deletes a completed EtcdBackup, and at an edit that takes
 * the limit away. No default limits their number: the API server fills in defaults when it reads stored objects too, so
 * schedules without a limit would lose backups.
 */
export const ALL_STAY =
  "spec has neither retention nor successfulBackupsHistoryLimit: every completed EtcdBackup of this schedule stays. Set one of them to limit their number";

/** The policy and its binding. It warns without a webhook, which is called for EtcdClusters only. */
export function schedulePolicy(labels: Readonly<Record<string, string>>) {
  const resourceRules = [
    {
      apiGroups: [GROUP],
      apiVersions: [ETCD_BACKUP_SCHEDULES.version],
      resources: [ETCD_BACKUP_SCHEDULES.plural],
      operations: ["CREATE", "UPDATE"],
    },
  ];
  const isLimited = (object: string) =>
    `has(${object}.spec.retention) || has(${object}.spec.successfulBackupsHistoryLimit)`;
  const expression = `${isLimited("object")} || (oldObject != null && !(${isLimited("oldObject")}))`;
  const validations = [{ expression, message: ALL_STAY }];
  // Exact: v1alpha1 has none of these fields.
  const matchConstraints = { matchPolicy: "Exact", resourceRules };
  return admissionPolicyNamed(`${OPERATOR}-schedules`, labels, { matchConstraints, validations }, "Warn");
}
