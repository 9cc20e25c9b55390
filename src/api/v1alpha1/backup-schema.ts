import { z } from "zod";
import { objectURLTemplateSchema } from "#api/object-url-schema.ts";

/** The shape of the operator of 2020. What only v1beta1 can say rides in an annotation (conversion.ts). */
export const backupFieldsSchema = z.object({
  source: z
    .object({
      clusterURL: z
        .string()
        .min(1)
        .max(512)
        .describe("Client URL of the etcd of which a snapshot is taken, such as http://my-cluster:2379."),
    })
    .describe("Of which etcd a snapshot is taken."),
  destination: z
    .object({ objectURLTemplate: objectURLTemplateSchema })
    .describe(
      "Where the object is stored. The Secret etcd-backup-credentials of the namespace, when there is one, says with what the store is asked.",
    ),
});

export const backupSpecSchema = backupFieldsSchema
  .meta({
    "x-kubernetes-validations": [
      { rule: "self == oldSelf", message: "spec cannot be changed after creation; make another EtcdBackup" },
    ],
  })
  .describe("One snapshot of an etcd cluster, stored as one object.");
