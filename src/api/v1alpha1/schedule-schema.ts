import { z } from "zod";
import { scheduleSchema } from "#api/schedule-text-schema.ts";
import { backupFieldsSchema } from "#api/v1alpha1/backup-schema.ts";

/** The shape of the operator of 2020. What only v1beta1 can say rides in an annotation (conversion.ts). */
export const scheduleSpecSchema = z
  .object({
    schedule: scheduleSchema,
    backupTemplate: backupFieldsSchema.describe("The spec of each EtcdBackup that is made."),
  })
  .describe("Backups that are made again and again.");
