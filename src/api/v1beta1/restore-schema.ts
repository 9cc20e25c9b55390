import { z } from "zod";
import { DEFAULT_BACKUP_RESOURCES } from "#api/backup-conversion.ts";
import { resourcesSchema } from "#api/common-schema.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";
import {
  ONE_SOURCE,
  RESTORE_SOURCE,
  serviceAccountNameSchema,
  untilSchema,
} from "#api/v1beta1/restore-source-schema.ts";

/** Both versions take the same. */
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
  .describe("Name of the EtcdCluster that is made. There must be none of it, nor claims that one has left.");

export const RESTORE_IS_FIXED = {
  rule: "self == oldSelf",
  message: "spec cannot be changed after creation; make another EtcdRestore",
};

export const RESTORE_HAS_MEMBERS = {
  rule: "self.clusterTemplate.spec.replicas > 0",
  message:
    "clusterTemplate.spec.replicas is 0; it must be 1 to 7, since a cluster without members has no place for data",
};

export const RESTORE_DESCRIPTION = "A new etcd cluster that is made of a stored snapshot.";

export const restoreSpecSchema = z
  .object({
    source: z
      .object(RESTORE_SOURCE)
      .meta({ "x-kubernetes-validations": [ONE_SOURCE] })
      .describe("Which snapshot."),
    until: untilSchema,
    clusterTemplate: z
      .object({
        clusterName: clusterNameSchema,
        spec: clusterSpecSchema.omit({ bootstrap: true }).describe("The spec of the EtcdCluster."),
      })
      .describe("The EtcdCluster that is made, in the same namespace."),
    serviceAccountName: serviceAccountNameSchema,
    resources: resourcesSchema
      .default(DEFAULT_BACKUP_RESOURCES)
      .describe(
        "Compute resources of the containers that bring the snapshot, as in a Pod. They take the same memory for any size of data. The one that makes a data directory of it has those of etcd.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      RESTORE_IS_FIXED,
      RESTORE_HAS_MEMBERS,
      {
        rule: "!has(self.serviceAccountName) || !has(self.clusterTemplate.spec.image) || (!has(self.clusterTemplate.spec.image.repository) && !has(self.clusterTemplate.spec.image.digest))",
        message:
          "serviceAccountName is given, and an image in clusterTemplate.spec, which would run with that account's identity; give only one of them",
      },
    ],
  })
  .describe(RESTORE_DESCRIPTION);
