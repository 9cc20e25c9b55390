import { z } from "zod";
import { conditionsSchema } from "#api/common-schema.ts";
import { SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS } from "#api/conditions.ts";
import { archiveStatusSchema } from "#api/v1beta1/backup-status-schema.ts";

const time = z.string().meta({ format: "date-time" });

export const madeBackupSchema = z.object({
  name: z.string().describe("The EtcdBackup."),
  time: time.describe("When it was made."),
});

const lastSuccessfulSchema = madeBackupSchema.extend({
  revision: z.string().optional().describe("Of etcd."),
  objectURL: z.string().optional(),
});

const disposalSchema = z.object({
  name: z.string().describe("The EtcdBackup."),
  objectURL: z.string().optional().describe("The object that would go with it; without it none would."),
});

export const dryRunSchema = z
  .object({
    refused: z.string().optional().describe("Why what the annotation says is no edit that could be made."),
    deletes: z.array(disposalSchema).describe("What would be deleted with the edit, the oldest first."),
    more: z.number().int().optional().describe("How many more would be deleted that are not in the list."),
  })
  .describe("What the edit that the annotation etcd.improbable.io/dry-run proposes would delete.");

export const scheduleStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    counted: z
      .object({
        schedule: z.string(),
        timeZone: z.string(),
        since: time.describe(
          "Times before this one are not made up for: it moves when either is edited, or the schedule is resumed.",
        ),
      })
      .optional()
      .describe("Which schedule due times are counted by; not there while it is suspended."),
    lastScheduleTime: time.optional().describe("The due time of the latest backup that was made."),
    heldTime: time
      .optional()
      .describe("The due time of the latest run that had to wait for its EtcdCluster, which slept, to be woken."),
    nextScheduleTime: time.optional().describe("When the next one is due."),
    runs: z.number().int().optional().describe("How many backups have been made so far."),
    active: z.array(z.string()).optional().describe("EtcdBackups that have not ended."),
    lastSuccessful: lastSuccessfulSchema.optional().describe("The latest backup that was completed."),
    lastVerified: madeBackupSchema
      .optional()
      .describe("The latest backup that was restored into a throw-away member and found whole."),
    archive: archiveStatusSchema.extend({ name: z.string().describe("The EtcdBackup that does it.") }).optional(),
    archiveFailures: z
      .object({
        count: z.number().int().describe("How many have failed in a row."),
        time: time.describe("When the latest one did."),
      })
      .optional()
      .describe(
        "Of archives that failed before they had worked for a while: the next one is made ever later, up to half an hour.",
      ),
    dryRun: dryRunSchema.optional(),
    conditions: conditionsSchema(SCHEDULE_CONDITION_TYPES, SCHEDULE_REASONS).optional(),
  })
  .describe("What the operator saw and decided last.");
