import { z } from "zod";
import { versionSchema } from "#api/common-schema.ts";
import { etcdSchema } from "#api/v1beta1/etcd-schema.ts";
import { PEER_DESCRIPTION, PEER_RULES, placeInCluster } from "#api/v1beta1/place-schema.ts";
import { imageSchema, podTemplateSchema } from "#api/v1beta1/pod-schema.ts";
import { DEFAULT_STORAGE_SPEC, storageSchema } from "#api/v1beta1/storage-schema.ts";
import { memberTlsSchema } from "#api/v1beta1/tls-schema.ts";

/** Fields of an EtcdPeer that users set on the EtcdCluster. A change restarts the member. */
const memberTemplate = {
  version: versionSchema,
  image: imageSchema.optional(),
  etcd: etcdSchema.optional(),
  tls: memberTlsSchema.optional(),
  podTemplate: podTemplateSchema.default({}),
};

export const peerSpecSchema = z
  .object({
    ...placeInCluster,
    ...memberTemplate,
    storage: storageSchema.default(DEFAULT_STORAGE_SPEC),
    previous: z
      .object(memberTemplate)
      .optional()
      .describe(
        "Template with which the member was last healthy, until it is healthy with its new one. It is rolled back to this when it does not become healthy.",
      ),
  })
  .meta(PEER_RULES)
  .describe(PEER_DESCRIPTION);
