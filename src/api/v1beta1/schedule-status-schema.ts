import { z } from "zod";
import { ATOMIC, conditionsSchema } from "#api/common-schema.ts";
import { SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS } from "#api/conditions.ts";
import { archiveStatusSchema } from "#api/v1beta1/backup-status-schema.ts";
import { refusalSchema } from "#api/v1beta1/plan-schema.ts";

const time = z.string().meta({ format: "date-time" });

export const madeBackupSchema = z.object({
  name: z.string().describe("The EtcdBackup."),
  creationTime: time.describe("When it was made. It has every write up to this time."),
});

const lastSuccessfulSchema = madeBackupSchema.extend({
  revision: z.string().optional().describe("etcd's revision in the backup."),
  objectURL: z.string().optional(),
});

const disposalSchema = z.object({
  name: z.string().describe("The EtcdBackup."),
  objectURL: z.string().optional().describe("The object that would be deleted with it; without it none would."),
});

export const dryRunSchema = z
  .object({
    refused: z
      .array(refusalSchema)
      .meta(ATOMIC)
      .optional()
      .describe("Why the annotation's value is not a possible edit."),
    deletes: z.array(disposalSchema).meta(ATOMIC).describe("The backups that the edit would delete, the oldest first."),
    more: z
      .number()
      .int()
      .optional()
      .describe("Number of further backups that would be deleted and are not in the list."),
  })
  .describe("What the edit that the annotation etcd.improbable.io/dry-run proposes would delete.");

export const scheduleStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    counted: z
      .object({
        schedule: z.string(),
        timeZone: z.string(),
        startWindow: z.string().optional(),
        since: time.describe(
          "Backups that were due before this time are not made later. It moves when schedule, timeZone or startWindow is edited, or the schedule is resumed.",
        ),
      })
      .optional()
      .describe("The schedule from which due times are computed; absent while it is suspended."),
    lastScheduleTime: time.optional().describe("The due time of the latest backup that was made."),
    heldTime: time
      .optional()
      .describe("The due time of the latest run that had to wait because its EtcdCluster slept."),
    nextScheduleTime: time.optional().describe("When the next backup is due."),
    runs: z.number().int().optional().describe("How many backups have been made so far."),
    active: z.array(z.string()).meta(ATOMIC).optional().describe("EtcdBackups that have not ended."),
    lastSuccessful: lastSuccessfulSchema.optional().describe("The latest backup that was completed."),
    lastVerified: madeBackupSchema
      .optional()
      .describe("The latest backup that was restored into a throw-away member and found whole."),
    archive: archiveStatusSchema.extend({ name: z.string().describe("The EtcdBackup that does it.") }).optional(),
    archiveFailures: z
      .object({
        count: z.number().int().describe("Number of failures in a row."),
        time: time.describe("When the latest one failed."),
      })
      .optional()
      .describe(
        "Archives that failed before they had worked for a while. The delay before the next one grows, up to half an hour.",
      ),
    dryRun: dryRunSchema.optional(),
    conditions: conditionsSchema(SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
