import { z } from "zod";
import { ATOMIC, conditionsSchema } from "#api/common-schema.ts";
import { RESTORE_CONDITION_TYPES, RESTORE_REASONS } from "#api/conditions.ts";

const time = z.string().meta({ format: "date-time" });

export const restoredSnapshotSchema = z
  .object({
    key: z.string().describe("Key of the object."),
    bytes: z.number().int().describe("Size of the snapshot as etcd sent it."),
    sha256: z.string().describe("SHA-256 of the snapshot as etcd sent it, in hexadecimal."),
    revision: z.string().describe("The highest revision in the snapshot."),
    etcdVersion: z
      .string()
      .optional()
      .describe("The release of the member that was read, or the minor release of its cluster."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's ID of the cluster of which it was taken, in hexadecimal, from its manifest."),
    hasManifest: z
      .boolean()
      .describe("False for a snapshot that a different tool has stored: only etcd's own checksum is known of it."),
  })
  .describe("The snapshot that was read.");

export const restoreStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    phase: z
      .enum(["Pending", "Completed", "Failed"])
      .optional()
      .describe("Pending: in progress, or waiting for something. Completed and Failed are final."),
    source: z.string().optional().describe("The EtcdBackup or object, in words."),
    objectURL: z.string().optional().describe("Where the object is."),
    clusterName: z.string().optional().describe("The EtcdCluster that is made."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's ID of the cluster that is made, in hexadecimal, computed before the cluster exists."),
    jobNames: z
      .array(z.string())
      .meta(ATOMIC)
      .optional()
      .describe("The Jobs that fill the claims, one for each member, in the same namespace."),
    startTime: time
      .optional()
      .describe(
        "When the operator began: when it first saw the EtcdRestore, or when the EtcdBackup in spec.source had ended.",
      ),
    completionTime: time.optional().describe("When it ended, well or not."),
    begun: z
      .boolean()
      .optional()
      .describe(
        "Whether all claims were filled, so that a cluster may have started with them. From then on the operator never deletes them.",
      ),
    snapshot: restoredSnapshotSchema.optional(),
    revision: z
      .string()
      .optional()
      .describe(
        "The revision with which the members start: that of the snapshot plus 1000000000. So no revision that a client has seen comes again with other data. All earlier revisions count as compacted.",
      ),
    conditions: conditionsSchema(RESTORE_CONDITION_TYPES, RESTORE_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
