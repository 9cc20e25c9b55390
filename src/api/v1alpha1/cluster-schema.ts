import { z } from "zod";
import { DEFAULT_VERSION, replicasSchema, versionSchema } from "#api/common-schema.ts";
import { DEFAULT_CLAIM, podTemplateSchema, storageSchema } from "#api/v1alpha1/shared-schema.ts";

/** The shape of the operator of 2020. What only v1beta1 can say rides in an annotation (conversion.ts). */
export const clusterSpecSchema = z
  .object({
    replicas: replicasSchema,
    version: versionSchema.default(DEFAULT_VERSION),
    storage: storageSchema.default({ volumeClaimTemplate: DEFAULT_CLAIM }),
    podTemplate: podTemplateSchema.default({}),
  })
  .describe("The etcd cluster that is wanted.");
