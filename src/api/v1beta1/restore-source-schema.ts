import { z } from "zod";
import { encryptionSchema } from "#api/v1beta1/backup-schema.ts";
import { azureSchema, credentials, gcsSchema, s3Schema, volumeSchema } from "#api/v1beta1/destination-schema.ts";

/** Stores take keys of 1,024 bytes. */
const MAX_KEY_LENGTH = 1_024;
/** The same as of a template that an EtcdBackup has (object-url-schema.ts): what it has stored can be named. */
export const MAX_OBJECT_URL_LENGTH = 600;

const keySchema = z
  .string()
  .min(1)
  .max(MAX_KEY_LENGTH)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!self.matches('(^|/)[.]{0,2}(/|$)') && !self.matches('[[:cntrl:]]')",
        messageExpression:
          "'key is ' + self + '; it must be names with / between them, none of which is empty, . or .., such as shop/orders.db'",
        message: "key must be names with / between them, none of which is empty, . or .., such as shop/orders.db",
      },
    ],
  })
  .describe(
    "Where the object is in its bucket, container or volume: the whole key, such as status.objectKey of an EtcdBackup.",
  );

const KINDS = ["s3", "gcs", "azure", "volume", "url"];

const objectSchema = z
  .object({
    s3: s3Schema
      .omit({ prefix: true })
      .extend({ key: keySchema })
      .optional()
      .describe("Amazon S3, or a server that speaks it."),
    gcs: gcsSchema.omit({ prefix: true }).extend({ key: keySchema }).optional().describe("Google Cloud Storage."),
    azure: azureSchema.omit({ prefix: true }).extend({ key: keySchema }).optional().describe("Azure Blob Storage."),
    volume: volumeSchema.omit({ path: true }).extend({ key: keySchema }).optional().describe("A volume of Kubernetes."),
    url: z
      .object({
        url: z
          .string()
          .min(1)
          .max(MAX_OBJECT_URL_LENGTH)
          .describe(
            "Such as s3://bucket/key.db?region=eu-west-1, gs://bucket/key.db or azblob://container/key.db?storage_account=mine.",
          ),
        credentials: credentials("what the store of the URL wants").describe(
          "With what the store is asked. Without it the Secret etcd-backup-credentials, when there is one.",
        ),
      })
      .optional()
      .describe("A store and the whole key, as one URL."),
    encryption: encryptionSchema
      .optional()
      .describe("With what the object was encrypted. One that is not encrypted is refused then."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `[${KINDS.map((kind) => `has(self.${kind})`).join(", ")}].exists_one(each, each)`,
        message: "object must have exactly one of s3, gcs, azure, volume and url",
      },
    ],
  })
  .describe("A stored snapshot: an object of an EtcdBackup, or what `etcdctl snapshot save` wrote.");

/** What a cluster is restored from; an EtcdCluster says the same. */
export const RESTORE_SOURCE = {
  backupName: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe(
      "Name of an EtcdBackup in the same namespace; when it is still under way it is waited for. This, or object.",
    ),
  object: objectSchema.optional(),
};

export const ONE_SOURCE = {
  rule: "has(self.backupName) != has(self.object)",
  message: "it must have exactly one of backupName and object",
};

/** Up to where; an EtcdCluster says the same. */
export const untilSchema = z
  .object({
    revision: z
      .string()
      .regex(/^[1-9][0-9]{0,18}$/)
      .optional()
      .describe("With this revision of the source and nothing after it, such as the one before a mistake."),
    time: z
      .string()
      .meta({ format: "date-time" })
      .optional()
      .describe(
        "With what had happened by this time and nothing after it, such as 2026-01-31T12:00:00Z. The clock of the pod that archives counts.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.revision) != has(self.time)",
        message: "until must have exactly one of revision and time",
      },
    ],
  })
  .optional()
  .describe(
    "A point in time after the snapshot. What changed up to there is taken from the archive beside it, which a schedule with archive keeps.",
  );

export const serviceAccountNameSchema = z
  .string()
  .min(1)
  .max(253)
  .optional()
  .describe(
    "Under which account of the namespace the pods run, for clouds that give it an identity. They get no token of Kubernetes. Not together with an image of one's own in the cluster's spec, which would run with that identity.",
  );
