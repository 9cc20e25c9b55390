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
        "What the member ran before it got the present version and podTemplate: it is put back to it when it does not come up.",
      ),
  })
  .meta(PEER_RULES)
  .describe(PEER_DESCRIPTION);
