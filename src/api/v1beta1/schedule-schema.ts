import { z } from "zod";
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
        // The API server has the names of all time zones; of one that it does not know it says so.
        rule: "timestamp('2026-01-01T00:00:00Z').getHours(self) >= 0",
        message: "it must be the name of a time zone, such as Europe/Berlin or UTC",
      },
    ],
  })
  .describe(
    "The time zone of the schedule, and of the days, weeks and months of the retention, by its IANA name. A time that the clocks leave out in spring is made up for when they go on; one that comes twice in autumn counts once, unless hour or minute begin with *.",
  );

export const scheduleSpecSchema = z
  .object({
    schedule: scheduleSchema,
    timeZone: timeZoneSchema.default("UTC"),
    suspend: z
      .boolean()
      .default(false)
      .describe("Makes no backups. What would have been due meanwhile is not made up for."),
    immediate: z
      .boolean()
      .default(false)
      .describe(
        "Makes the first backup at once, when none has ever been made, and does not wait for the first due time.",
      ),
    startingDeadlineSeconds: z
      .number()
      .int()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe(
        "How late a backup may begin when its time was missed, such as while the operator was away. Of several that were missed only the latest is made. Without it there is no limit.",
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
        "How many completed EtcdBackups stay; of those that go, objectPolicy says what becomes of their objects. Without it all stay. With retention, each stays as long as its object.",
      ),
    failedBackupsHistoryLimit: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(3)
      .describe("How many failed EtcdBackups stay."),
    verifyEvery: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe("Has the first of every so many backups verified: restored into a throw-away member, and compared."),
    archive: archiveSchema
      .optional()
      .describe(
        "Stores every change between two backups as it happens, too, so that an EtcdRestore can choose any revision or time. An EtcdBackup does it, called like the schedule with -changes behind it, also while the schedule is suspended.",
      ),
    backupTemplate: backupFieldsSchema.describe("The spec of each EtcdBackup that is made from now on."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.archive) || !has(self.backupTemplate.destination.url)",
        message:
          "with archive, backupTemplate.destination must be one of s3, gcs, azure and volume: it has many objects",
      },
      {
        rule: "!has(self.retention) || !has(self.successfulBackupsHistoryLimit)",
        message:
          "retention and successfulBackupsHistoryLimit exclude each other: with retention, a completed EtcdBackup stays as long as its object",
      },
    ],
  })
  .describe("Backups that are made again and again, and which of them are kept.");
