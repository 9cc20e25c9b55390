import { z } from "zod";
import { scheduleSchema } from "#api/schedule-text-schema.ts";
import { backupFieldsSchema } from "#api/v1alpha1/backup-schema.ts";

/** Schema of the 2020 operator. Fields that only v1beta1 has are stored in an annotation (conversion.ts). */
export const scheduleSpecSchema = z
  .object({
    schedule: scheduleSchema,
    backupTemplate: backupFieldsSchema.describe("The spec of each EtcdBackup that is made."),
  })
  .describe("Backups at regular times.");
