import { backupFromV1alpha1, backupToV1alpha1, DEFAULT_BACKUP_SPEC } from "#api/backup-conversion.ts";
import { fromBeyond } from "#api/pod-template/conversion.ts";
import { isSameData } from "#base/hash.ts";
import { defined, record, without } from "#base/json.ts";

// v1alpha1 has only the schedule and the spec of the backup template. All other fields are stored in the annotation. The
// template's spec is converted like an EtcdBackup.

type Json = Readonly<Record<string, unknown>>;

/**
 * Converts the spec of an EtcdBackupSchedule, without the defaults of v1beta1.
 * @param beyond fields that only v1beta1 has
 */
export function scheduleFromV1alpha1({ backupTemplate, ...rest }: Json, beyond: Json): Json {
  const { spec, ...others } = record(beyond.backupTemplate);
  const backup = { ...DEFAULT_BACKUP_SPEC, ...backupFromV1alpha1(record(backupTemplate), record(spec)) };
  return {
    ...without(beyond, ["schedule", "backupTemplate"]),
    ...rest,
    backupTemplate: backupTemplate === undefined ? undefined : { ...others, spec: defined(backup) },
  };
}

export function scheduleToV1alpha1({ schedule, backupTemplate, ...rest }: Json): { said: Json; beyond: Json } {
  const { spec, ...others } = record(backupTemplate);
  const template = backupTemplate === undefined ? undefined : backupToV1alpha1(record(spec));
  const more = Object.entries(template?.beyond ?? {}).filter(
    ([key, value]) => !isSameData(value, (DEFAULT_BACKUP_SPEC as Json)[key]),
  );
  return {
    said: { schedule, backupTemplate: template === undefined ? undefined : defined(template.said) },
    beyond: { ...rest, backupTemplate: fromBeyond({ ...others, spec: fromBeyond(Object.fromEntries(more)) }) },
  };
}
