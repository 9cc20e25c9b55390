import { z } from "zod";
import { clusterSpecSchema } from "#api/v1alpha1/cluster-schema.ts";
import {
  clusterNameSchema,
  RESTORE_DESCRIPTION,
  RESTORE_HAS_MEMBERS,
  RESTORE_IS_FIXED,
} from "#api/v1beta1/restore-schema.ts";
import { MAX_OBJECT_URL_LENGTH } from "#api/v1beta1/restore-source-schema.ts";

/** Schema of v1alpha1, the API of the release of 2020. Fields that only v1beta1 has are stored in an annotation (conversion.ts). */
export const restoreSpecSchema = z
  .object({
    source: z
      .object({
        objectURL: z
          .string()
          .min(1)
          .max(MAX_OBJECT_URL_LENGTH)
          .describe(
            "Where the snapshot is, such as s3://bucket/key.db?region=eu-west-1 or gs://bucket/key.db. The Secret etcd-backup-credentials of the namespace, when there is one, holds the credentials for the store.",
          ),
      })
      .describe("The snapshot that is restored."),
    clusterTemplate: z
      .object({ clusterName: clusterNameSchema, spec: clusterSpecSchema.describe("The spec of the EtcdCluster.") })
      .describe("The EtcdCluster that is made, in the same namespace."),
  })
  .meta({ "x-kubernetes-validations": [RESTORE_IS_FIXED, RESTORE_HAS_MEMBERS] })
  .describe(RESTORE_DESCRIPTION);
