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

// What an EtcdBackupSchedule has made is told by marks on EtcdBackups, and a retention deletes backups for the sake of later ones. Whoever may
// create EtcdBackups could have theirs pass for one of a schedule, and older ones deleted for it, or have an upgrade go on with it. So nobody
// but the operator sets or changes a mark. Everybody may take one away: that is how a backup is kept for good.

type Field = "labels" | "annotations";

/** Where each stands, and what the operator tells by it. */
const MARKS: readonly (readonly [Field, string, string])[] = [
  ["labels", SCHEDULE_LABEL, "which EtcdBackupSchedule has made an EtcdBackup"],
  ["annotations", SCHEDULE_UID_ANNOTATION, "which EtcdBackupSchedule has made an EtcdBackup"],
  [
    "annotations",
    DELETE_OBJECT_ANNOTATION,
    "that a retention lets the object of an EtcdBackup go; spec.objectPolicy is for people",
  ],
  ["annotations", FIRST_BACKUP_ANNOTATION, "that an EtcdBackup was made before an upgrade"],
];

/** What people read who set it by hand. */
export function notByHand(field: Field, mark: string): string {
  const [, , tells] = MARKS.find(([, name]) => name === mark) ?? [];
  return `metadata.${field}[${mark}] is set by the operator alone, which tells by it ${tells}; leave it out, leave it as it was read, or remove it`;
}

/** The policy and its binding. @param user the operator's account */
export function marksPolicy(user: string, labels: Readonly<Record<string, string>>) {
  const value = (object: string, field: Field, mark: string) => `${object}.metadata.?${field}[?'${mark}']`;
  return admissionPolicyNamed(`${OPERATOR}-marks`, labels, {
    matchConstraints: {
      matchPolicy: "Exact", // Metadata is the same in all versions, and nothing has to be converted.
      resourceRules: [
        {
          apiGroups: [GROUP],
          apiVersions: ["*"],
          resources: [ETCD_BACKUPS.plural], // Who writes a status writes no metadata.
          operations: ["CREATE", "UPDATE"],
        },
      ],
    },
    matchConditions: [
      { name: "others", expression: `request.userInfo.username != '${user}'` },
      {
        name: "marks",
        expression: MARKS.map(([field, mark]) => `${value("object", field, mark)}.hasValue()`).join(" || "),
      },
    ],
    validations: MARKS.map(([field, mark]) => ({
      expression: `!${value("object", field, mark)}.hasValue() || (request.operation == 'UPDATE' && ${value("object", field, mark)} == ${value("oldObject", field, mark)})`,
      message: notByHand(field, mark),
      reason: "Forbidden",
    })),
  });
}
