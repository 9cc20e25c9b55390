import { z } from "zod";
import { DEFAULT_VERSION, replicasSchema, versionSchema } from "#api/common-schema.ts";
import { DEFAULT_CLAIM, podTemplateSchema, storageSchema } from "#api/v1alpha1/shared-schema.ts";

/** Schema of the 2020 operator. Fields that only v1beta1 has are stored in an annotation (conversion.ts). */
export const clusterSpecSchema = z
  .object({
    replicas: replicasSchema,
    version: versionSchema.default(DEFAULT_VERSION),
    storage: storageSchema.default({ volumeClaimTemplate: DEFAULT_CLAIM }),
    podTemplate: podTemplateSchema.default({}),
  })
  .describe("Desired state of the etcd cluster.");
