import { z } from "zod";
import { annotationsSchema, durationSchema, labelsSchema } from "#api/common-schema.ts";
import { scheduleSchema } from "#api/schedule-text-schema.ts";
import { archiveSchema, backupFieldsSchema } from "#api/v1beta1/backup-schema.ts";
import { retentionSchema } from "#api/v1beta1/retention-schema.ts";

const timeZoneSchema = z
  .string()
  .min(1)
  .max(64)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self.matches('^[A-Za-z][A-Za-z0-9_+/-]*$') && self != 'Local'",
        messageExpression: "'it is ' + self + '; it must be the name of a time zone, such as Europe/Berlin or UTC'",
        message: "it must be the name of a time zone, such as Europe/Berlin or UTC",
      },
      {
        // CEL knows all IANA time zones and fails for an unknown name.
        rule: "timestamp('2026-01-01T00:00:00Z').getHours(self) >= 0",
        message: "it must be the name of a time zone, such as Europe/Berlin or UTC",
      },
    ],
  })
  .describe(
    "The time zone of the schedule, and of the days, weeks and months of the retention, by its IANA name. A time that the change to daylight saving time skips runs right after the change. One that comes twice in autumn counts once, unless hour or minute begin with *.",
  );

export const scheduleSpecSchema = z
  .object({
    schedule: scheduleSchema,
    timeZone: timeZoneSchema.default("UTC"),
    startWindow: durationSchema("1m", "24h")
      .optional()
      .describe(
        "Spreads the starts of many schedules over this duration, such as 30m, after the times of `schedule`. Each schedule waits for a fixed part of it, derived from metadata.uid, and at most until the next time of `schedule`. The status has the delayed times, and startingDeadlineSeconds counts from them. Without it backups start exactly on time.",
      ),
    suspend: z
      .boolean()
      .default(false)
      .describe("Makes no backups. Backups that were due during the suspension are not made later."),
    immediate: z
      .boolean()
      .default(false)
      .describe("Makes the first backup at once, if none has ever been made, instead of at the first due time."),
    startingDeadlineSeconds: z
      .number()
      .int()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe(
        "How late a backup may begin when its time was missed, for example while the operator was down. Of several missed backups only the latest is made. A failed backup is repeated only within this time. Without it there is no limit.",
      ),
    concurrencyPolicy: z
      .enum(["Forbid", "Allow", "Replace"])
      .default("Forbid")
      .describe(
        "What happens when a backup is due and an earlier one has not ended. Forbid: it waits for that. Allow: both run. Replace: the earlier one is deleted.",
      ),
    retention: retentionSchema.optional(),
    successfulBackupsHistoryLimit: z
      .number()
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        "How many completed EtcdBackups stay. Whether an object is deleted with its EtcdBackup depends on deletionPolicy. Without it all stay. With retention, each stays as long as its object.",
      ),
    failedBackupsHistoryLimit: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(3)
      .describe("How many failed EtcdBackups stay. With 0 a failed backup is not repeated."),
    verification: z
      .object({
        every: z
          .number()
          .int()
          .min(1)
          .max(10_000)
          .describe("How many backups there are for each verified one. With 10 the first of every ten is verified."),
      })
      .optional()
      .describe(
        "Which backups are verified: the operator restores them into a throw-away member, and compares the data. All are when backupTemplate.spec.verification.mode is Restore.",
      ),
    archive: archiveSchema
      .optional()
      .describe(
        "Also stores every change between two backups as it happens, so that an EtcdRestore can choose any revision or time. The EtcdBackup NAME-changes does it, also while the schedule is suspended.",
      ),
    backupTemplate: z
      .object({
        metadata: z
          .object({
            labels: labelsSchema.describe("Labels for each EtcdBackup."),
            annotations: annotationsSchema.describe("Annotations for each EtcdBackup."),
          })
          .optional(),
        spec: backupFieldsSchema.describe("The spec of each EtcdBackup."),
      })
      .describe("The EtcdBackups that are made from now on."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.archive) || !has(self.backupTemplate.spec.destination.url)",
        message:
          "with archive, backupTemplate.spec.destination must be one of s3, gcs, azure and volume: it has many objects",
      },
      {
        rule: "!has(self.retention) || !has(self.successfulBackupsHistoryLimit)",
        message:
          "retention and successfulBackupsHistoryLimit exclude each other: with retention, a completed EtcdBackup stays as long as its object",
      },
    ],
  })
  .describe("Backups at regular times, and which of them are kept.");
