import { z } from "zod";
import { versionSchema } from "#api/common-schema.ts";
import { AUTH_NEEDS_CERTIFICATES } from "#api/v1beta1/auth-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import { imageIsKnown, RESTORE_FIELDS } from "#api/v1beta1/restore-source-schema.ts";

/** Schema of the cluster's name in both versions. */
export const clusterNameSchema = z
  .string()
  .min(1)
  .max(52)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$')",
        messageExpression:
          "'clusterName is ' + self + '; it must be a-z, 0-9 and -, begin with a letter and not end with -'",
        message: "clusterName must be a-z, 0-9 and -, begin with a letter and not end with -",
      },
    ],
  })
  .describe(
    "Name of the EtcdCluster that is made. No EtcdCluster of this name, and no claims of an earlier one, may exist.",
  );

export const RESTORE_IS_FIXED = {
  rule: "self == oldSelf",
  message: "spec cannot be changed after creation; make another EtcdRestore",
};

export const RESTORE_HAS_MEMBERS = {
  rule: "self.clusterTemplate.spec.replicas > 0",
  message:
    "clusterTemplate.spec.replicas is 0; it must be 1 to 7, since a cluster without members has no place for data",
};

export const RESTORE_DESCRIPTION = "A new etcd cluster that is restored from a stored snapshot.";

export const restoreSpecSchema = z
  .object({
    ...RESTORE_FIELDS,
    clusterTemplate: z
      .object({
        clusterName: clusterNameSchema,
        // omit() drops the rules of the spec. Those on updates and on bootstrap do not apply here.
        spec: clusterSpecSchema
          .omit({ bootstrap: true })
          .extend({
            version: versionSchema.describe(
              "The etcd release that members run: the minor release of the snapshot or a later one. An EtcdBackup has the release of its snapshot in status.object.etcdVersion.",
            ),
          })
          .meta({ "x-kubernetes-validations": AUTH_NEEDS_CERTIFICATES })
          .describe("The spec of the EtcdCluster."),
      })
      .describe("The EtcdCluster that is made, in the same namespace."),
  })
  .meta({
    "x-kubernetes-validations": [
      RESTORE_IS_FIXED,
      RESTORE_HAS_MEMBERS,
      imageIsKnown("self.?podTemplate", "self.clusterTemplate.spec.?image", "podTemplate"),
    ],
  })
  .describe(RESTORE_DESCRIPTION);
