import { z } from "zod";
import { DEFAULT_VERSION, versionSchema } from "#api/common-schema.ts";
import { etcdSchema } from "#api/v1beta1/etcd-schema.ts";
import { PEER_DESCRIPTION, PEER_RULES, placeInCluster } from "#api/v1beta1/place-schema.ts";
import { imageSchema, podTemplateSchema } from "#api/v1beta1/pod-schema.ts";
import { DEFAULT_STORAGE_SPEC, storageSchema } from "#api/v1beta1/storage-schema.ts";
import { memberTlsSchema } from "#api/v1beta1/tls-schema.ts";

/** What of a member people decide, on the EtcdCluster: whoever edits it has members restarted. */
const memberTemplate = {
  version: versionSchema.default(DEFAULT_VERSION),
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
      .object({ ...memberTemplate, version: versionSchema })
      .optional()
      .describe(
        "With what the member was last well, until it is well with what it got since: it is put back to it when it does not come up.",
      ),
  })
  .meta(PEER_RULES)
  .describe(PEER_DESCRIPTION);
