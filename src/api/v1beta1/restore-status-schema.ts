import { z } from "zod";
import { conditionsSchema } from "#api/common-schema.ts";
import { RESTORE_CONDITION_TYPES, RESTORE_REASONS } from "#api/conditions.ts";

const time = z.string().meta({ format: "date-time" });

export const restoredSnapshotSchema = z
  .object({
    key: z.string().describe("Of the object."),
    bytes: z.number().int().describe("Size of the snapshot as etcd sent it."),
    sha256: z.string().describe("Of the snapshot as etcd sent it, in hexadecimal."),
    revision: z.string().describe("The highest that the snapshot holds."),
    etcdVersion: z
      .string()
      .optional()
      .describe("The release of the member that was read, or the minor release of its cluster."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's ID of the cluster of which it was taken, in hexadecimal; by its manifest."),
    hasManifest: z
      .boolean()
      .describe("False for a snapshot that some other tool has stored: of it only etcd's own checksum is known."),
  })
  .describe("The snapshot that was read.");

export const restoreStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    phase: z
      .enum(["Pending", "Completed", "Failed"])
      .optional()
      .describe("Pending: on its way, or waiting for something. Completed and Failed are for ever."),
    source: z.string().optional().describe("Which EtcdBackup, or object, for people."),
    objectURL: z.string().optional().describe("Where the object is."),
    clusterName: z.string().optional().describe("The EtcdCluster that is made."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's ID of the cluster that is made, in hexadecimal: computed before it is there."),
    jobNames: z
      .array(z.string())
      .optional()
      .describe("The Jobs that fill the claims, one for each member, in the same namespace."),
    startTime: time
      .optional()
      .describe("When the operator began: with the first look, or when the EtcdBackup that it names had ended."),
    completionTime: time.optional().describe("When it ended, well or not."),
    begun: z
      .boolean()
      .optional()
      .describe(
        "Whether all claims were filled, so that a cluster may have begun with them: from then on the operator never deletes them.",
      ),
    snapshot: restoredSnapshotSchema.optional(),
    revision: z
      .string()
      .optional()
      .describe(
        "With which the members start: that of the snapshot and 1000000000 more, so that no revision which a client has seen comes again with other data. All before it count as compacted.",
      ),
    conditions: conditionsSchema(RESTORE_CONDITION_TYPES, RESTORE_REASONS).optional(),
  })
  .describe("What the operator saw and decided last.");
