import { z } from "zod";
import { conditionsSchema } from "#api/common-schema.ts";
import { BACKUP_CONDITION_TYPES, BACKUP_REASONS } from "#api/conditions.ts";

const time = z.string().meta({ format: "date-time" });

export const backupObjectSchema = z
  .object({
    bytes: z.number().int().describe("Size of the snapshot as etcd sent it."),
    storedBytes: z.number().int().describe("Size of the object."),
    sha256: z.string().describe("Of the snapshot as etcd sent it, in hexadecimal."),
    revision: z
      .string()
      .describe("Every write up to this revision is in the snapshot; a few that came while it was taken may be, too."),
    etcdVersion: z.string().describe("The release of the member that was read."),
    clusterID: z.string().describe("etcd's cluster ID in hexadecimal."),
    memberID: z.string().describe("The member that was read, by its ID in hexadecimal."),
    compression: z.enum(["None", "Zstd"]),
    encrypted: z.boolean(),
  })
  .describe("What was stored.");

export const progressSchema = z
  .object({
    phase: z.string().describe("What the agent does."),
    bytesRead: z.number().int().describe("Of the snapshot."),
    bytesStored: z.number().int().describe("Handed to the store."),
    bytesExpected: z.number().int().describe("About how large the snapshot will be; 0 until it is known."),
  })
  .describe("How far the agent was when it was asked last; only while it runs.");

export const verificationSchema = z
  .object({
    jobName: z.string().optional().describe("The Job that does it, in the same namespace."),
    startTime: time.optional().describe("When the operator saw first that it is asked for."),
    time: time.optional().describe("When it ended, well or not."),
    revision: z.string().optional().describe("At which the data was compared."),
    keys: z.number().int().optional().describe("How many keys the etcd has that was made of it, at that revision."),
  })
  .describe("How the object was verified; the condition Verified says whether it is right.");

export const archiveStatusSchema = z
  .object({
    clusterID: z.string().optional().describe("Of which etcd, by its cluster ID in hexadecimal."),
    from: z
      .string()
      .describe(
        "Since this revision there has been no gap: changes can be added to a snapshot that has what is before.",
      ),
    since: time
      .optional()
      .describe(
        "When the etcd began to count its revisions anew, such as after a restore of its data; a snapshot from before has other revisions of the same numbers.",
      ),
    revision: z.string().describe("The last revision that is stored."),
    time: time.describe("Until when it is stored what happened, by the clock of the pod."),
    gaps: z.number().int().describe("Gaps that the pod has found since it started."),
    objects: z.number().int().optional().describe("Objects that the pod has stored since it started."),
    bytes: z.number().int().optional().describe("How large these are, compressed and encrypted as they lie there."),
    message: z.string().optional().describe("Why nothing can be stored at this moment."),
  })
  .describe("What is stored of the changes, when the agent was asked last.");

export const backupStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    phase: z
      .enum(["BackingUp", "Completed", "Failed"])
      .optional()
      .describe("BackingUp: on its way, or waiting for something. Completed and Failed are for ever."),
    source: z.string().optional().describe("Which etcd, for people."),
    objectURL: z
      .string()
      .optional()
      .describe("Where the object is, or is to be; Completed says that it is there, and whole."),
    objectKey: z
      .string()
      .optional()
      .describe("Where it is, or is to be, in its bucket, container or volume: decided once, when the Job is made."),
    jobName: z.string().optional().describe("The Job that does it, in the same namespace."),
    nothingStored: z
      .boolean()
      .optional()
      .describe("True as long as no pod of the Job has run, so that there is no object that could be deleted."),
    startTime: time.optional().describe("When the operator saw the EtcdBackup first."),
    completionTime: time.optional().describe("When it ended, well or not."),
    object: backupObjectSchema.optional(),
    progress: progressSchema.optional(),
    verification: verificationSchema.optional(),
    archive: archiveStatusSchema.optional(),
    conditions: conditionsSchema(BACKUP_CONDITION_TYPES, BACKUP_REASONS).optional(),
  })
  .describe("What the operator saw and decided last.");
