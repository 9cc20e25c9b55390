import { z } from "zod";
import { conditionsSchema } from "#api/common-schema.ts";
import { BACKUP_CONDITION_TYPES, BACKUP_REASONS } from "#api/conditions.ts";

const time = z.string().meta({ format: "date-time" });

export const backupObjectSchema = z
  .object({
    bytes: z.number().int().describe("Size of the snapshot as etcd sent it."),
    storedBytes: z.number().int().describe("Size of the object."),
    sha256: z.string().describe("SHA-256 of the snapshot as etcd sent it, in hexadecimal."),
    revision: z
      .string()
      .describe(
        "Every write up to this revision is in the snapshot. A few writes during the snapshot may be in it, too.",
      ),
    etcdVersion: z.string().describe("The release of the member that was read."),
    clusterID: z.string().describe("etcd's cluster ID in hexadecimal."),
    memberID: z.string().describe("The member that was read, by its ID in hexadecimal."),
    compression: z.enum(["None", "Zstd"]),
    encrypted: z.boolean(),
    keyID: z
      .string()
      .optional()
      .describe("ID of the encryption key, the first digits of a hash. The key cannot be derived from it."),
  })
  .describe("What was stored.");

export const progressSchema = z
  .object({
    phase: z.string().describe("What the agent does."),
    bytesRead: z.number().int().describe("Bytes of the snapshot that were read."),
    bytesStored: z.number().int().describe("Bytes handed to the store."),
    bytesExpected: z.number().int().describe("About how large the snapshot will be; 0 until it is known."),
  })
  .describe("Progress of the agent when the operator last asked it; only while it runs.");

export const verificationSchema = z
  .object({
    jobName: z.string().optional().describe("The Job that does it, in the same namespace."),
    startTime: time.optional().describe("When the operator first saw that verification is requested."),
    completionTime: time.optional().describe("When it ended, well or not."),
    revision: z.string().optional().describe("The revision at which the data was compared."),
    keys: z.number().int().optional().describe("Number of keys in the restored etcd at that revision."),
  })
  .describe("How the object was verified; the condition Verified has the result.");

export const objectCheckSchema = z
  .object({
    time: time.describe("When the result was recorded."),
    jobUID: z.string().optional().describe("Uid of the Job that made the check."),
    message: z.string().optional().describe("Why the check could not be made. It is tried again the next day."),
  })
  .describe(
    "The latest check whether the object is still stored; the condition ObjectFound has its result. Once a day, the two newest Completed EtcdBackups of each schedule are checked.",
  );

export const archiveStatusSchema = z
  .object({
    clusterID: z.string().optional().describe("etcd's cluster ID in hexadecimal."),
    from: z
      .string()
      .describe(
        "There has been no gap since this revision: the changes can be applied to a snapshot that has everything before.",
      ),
    since: time
      .optional()
      .describe(
        "When the etcd began to count its revisions again, for example after a restore. An earlier snapshot has other revisions of the same numbers.",
      ),
    revision: z.string().describe("The last revision that is stored."),
    time: time.describe("Every change up to this time is stored, by the clock of the pod."),
    gaps: z.number().int().describe("Gaps that the pod has found since it started."),
    objects: z.number().int().optional().describe("Objects that the pod has stored since it started."),
    bytes: z.number().int().optional().describe("Size of these objects, as stored: compressed and encrypted."),
    message: z.string().optional().describe("Why nothing can be stored at this moment."),
  })
  .describe("Which changes are stored, when the operator last asked the agent.");

export const backupStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    phase: z
      .enum(["BackingUp", "Completed", "Failed"])
      .optional()
      .describe("BackingUp: in progress, or waiting for something. Completed and Failed are final."),
    source: z.string().optional().describe("The etcd, in words."),
    objectURL: z
      .string()
      .optional()
      .describe("Where the object is, or will be. With phase Completed it is there, and whole."),
    objectKey: z
      .string()
      .optional()
      .describe("Key of the object in its bucket, container or volume, decided once, when the Job is made."),
    jobName: z.string().optional().describe("The Job that does it, in the same namespace."),
    nothingStored: z
      .boolean()
      .optional()
      .describe("True as long as no pod of the Job has run, so that there is no object that could be deleted."),
    startTime: time
      .optional()
      .describe(
        "When the operator first saw the EtcdBackup, when its wait for other backups ended, or when its Job was first refused.",
      ),
    completionTime: time.optional().describe("When it ended, well or not."),
    object: backupObjectSchema.optional(),
    progress: progressSchema.optional(),
    verification: verificationSchema.optional(),
    objectCheck: objectCheckSchema.optional(),
    archive: archiveStatusSchema.optional(),
    conditions: conditionsSchema(BACKUP_CONDITION_TYPES, BACKUP_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
