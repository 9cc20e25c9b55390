import { z } from "zod";
import { DEFAULT_VERSION, versionSchema } from "#api/common-schema.ts";
import { DEFAULT_CLAIM, podTemplateSchema, storageSchema } from "#api/v1alpha1/shared-schema.ts";
import { PEER_DESCRIPTION, PEER_RULES, placeInCluster } from "#api/v1beta1/place-schema.ts";

export const peerSpecSchema = z
  .object({
    ...placeInCluster,
    version: versionSchema.default(DEFAULT_VERSION),
    storage: storageSchema.default({ volumeClaimTemplate: DEFAULT_CLAIM }),
    podTemplate: podTemplateSchema.default({}),
    previous: z
      .object({ version: versionSchema, podTemplate: podTemplateSchema.default({}) })
      .optional()
      .describe(
        "What the member ran before its present version and podTemplate: it is rolled back to this when it does not become healthy.",
      ),
  })
  .meta(PEER_RULES)
  .describe(PEER_DESCRIPTION);
