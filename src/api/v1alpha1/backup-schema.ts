import { z } from "zod";
import { objectURLTemplateSchema } from "#api/object-url-schema.ts";

/** Schema of the 2020 operator. Fields that only v1beta1 has are stored in an annotation (conversion.ts). */
export const backupFieldsSchema = z.object({
  source: z
    .object({
      clusterURL: z
        .string()
        .min(1)
        .max(512)
        .describe("Client URL of the etcd of which a snapshot is taken, such as http://my-cluster:2379."),
    })
    .describe("The etcd of which a snapshot is taken."),
  destination: z
    .object({ objectURLTemplate: objectURLTemplateSchema })
    .describe(
      "Where the object is stored. The Secret etcd-backup-credentials of the namespace, when there is one, holds the credentials for the store.",
    ),
});

export const backupSpecSchema = backupFieldsSchema
  .meta({
    "x-kubernetes-validations": [
      { rule: "self == oldSelf", message: "spec cannot be changed after creation; make another EtcdBackup" },
    ],
  })
  .describe("One snapshot of an etcd cluster, stored as one object.");
