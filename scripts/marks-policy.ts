import {
  DELETE_OBJECT_ANNOTATION,
  FIRST_BACKUP_ANNOTATION,
  GROUP,
  OPERATOR,
  SCHEDULE_LABEL,
  SCHEDULE_UID_ANNOTATION,
} from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { admissionPolicyNamed } from "./policy.ts";

// Why are marks protected?
//   Marks on EtcdBackups identify backups by an EtcdBackupSchedule or before an upgrade. A retention deletes old
//   backups when there are newer ones. With a forged mark a user's backup could have older ones deleted, or let an
//   upgrade proceed. So only the operator may set or change a mark. Every client may remove one, which keeps the backup
//   for good.
// Why may only the operator make an EtcdBackup with spec.archive?
//   It is a service that never completes. Its schedule replaces it when it fails, and makes the backups without which
//   its changes cannot be restored.

type Field = "labels" | "annotations";

/** Place and name of each mark, and its meaning for an error. */
const MARKS: readonly (readonly [Field, string, string])[] = [
  ["labels", SCHEDULE_LABEL, "which EtcdBackupSchedule has made an EtcdBackup"],
  ["annotations", SCHEDULE_UID_ANNOTATION, "which EtcdBackupSchedule has made an EtcdBackup"],
  [
    "annotations",
    DELETE_OBJECT_ANNOTATION,
    "that a retention deletes the object of an EtcdBackup, for which users set spec.deletionPolicy",
  ],
  ["annotations", FIRST_BACKUP_ANNOTATION, "that an EtcdBackup was made before an upgrade"],
];

/** Error for a client that sets a mark. */
export function notByHand(field: Field, mark: string): string {
  const [, , tells] = MARKS.find(([, name]) => name === mark) ?? [];
  return `metadata.${field}[${mark}] is set by the operator alone, to record ${tells}; leave it out, leave it as it was read, or remove it`;
}

/** Error for a client that makes an EtcdBackup with spec.archive. */
export const ARCHIVES_BY_SCHEDULE =
  "spec.archive is set by EtcdBackupSchedules alone, since changes can be restored only with backups beside them; use an EtcdBackupSchedule with spec.archive";

/** The policy and its binding. @param user the operator's account */
export function marksPolicy(user: string, labels: Readonly<Record<string, string>>) {
  const makesArchive = "request.operation == 'CREATE' && object.?spec.?archive.hasValue()";
  const value = (object: string, field: Field, mark: string) => `${object}.metadata.?${field}[?'${mark}']`;
  return admissionPolicyNamed(`${OPERATOR}-marks`, labels, {
    matchConstraints: {
      matchPolicy: "Exact", // Metadata are the same in all versions, so no conversion is needed.
      resourceRules: [
        {
          apiGroups: [GROUP],
          apiVersions: ["*"],
          resources: [ETCD_BACKUPS.plural], // Without the status subresource, which cannot change metadata.
          operations: ["CREATE", "UPDATE"],
        },
      ],
    },
    matchConditions: [
      { name: "others", expression: `request.userInfo.username != '${user}'` },
      {
        name: "marks",
        expression: [
          ...MARKS.map(([field, mark]) => `${value("object", field, mark)}.hasValue()`),
          `(${makesArchive})`,
        ].join(" || "),
      },
    ],
    validations: [
      ...MARKS.map(([field, mark]) => ({
        expression: `!${value("object", field, mark)}.hasValue() || (request.operation == 'UPDATE' && ${value("object", field, mark)} == ${value("oldObject", field, mark)})`,
        message: notByHand(field, mark),
        reason: "Forbidden",
      })),
      { expression: `!(${makesArchive})`, message: ARCHIVES_BY_SCHEDULE, reason: "Forbidden" },
    ],
  });
}
