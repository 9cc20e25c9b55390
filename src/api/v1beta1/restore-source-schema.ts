import { z } from "zod";
import { encryptionSchema } from "#api/v1beta1/backup-schema.ts";
import { azureSchema, credentials, gcsSchema, s3Schema, volumeSchema } from "#api/v1beta1/destination-schema.ts";
import { restorePodSchema } from "#api/v1beta1/job-pod-schema.ts";

/** Maximum length of a key in stores, in bytes. */
const MAX_KEY_LENGTH = 1_024;
/**
 * Maximum length of a URL, as for an EtcdBackup's template (object-url-schema.ts), so that every backup can be
 * restored.
 */
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
          "'key is ' + self + '; it must be names with / between them, none empty, . or .., such as shop/orders.db'",
        message: "key must be names with / between them, none empty, . or .., such as shop/orders.db",
      },
    ],
  })
  .describe(
    "The whole key of the object in its bucket, container or volume, such as status.objectKey of an EtcdBackup.",
  );

const KINDS = ["s3", "gcs", "azure", "volume", "url"];

const objectSchema = z
  .object({
    s3: s3Schema
      .omit({ prefix: true })
      .extend({ key: keySchema })
      .optional()
      .describe("Amazon S3, or a compatible server."),
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
          "Credentials for the store. Without it the Secret etcd-backup-credentials, when there is one.",
        ),
      })
      .optional()
      .describe("A store and the whole key, as one URL."),
    encryption: encryptionSchema
      .optional()
      .describe("Key with which the object was encrypted. An object that is not encrypted is then refused."),
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

const sourceSchema = z
  .object({
    backupName: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe(
        "Name of an EtcdBackup in the same namespace; if it is still in progress, the restore waits for it. This, or object.",
      ),
    encryption: encryptionSchema
      .optional()
      .describe("Another key than that of the EtcdBackup, for example after its Secret got a new one."),
    object: objectSchema.optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.encryption) || has(self.backupName)",
        message: "encryption is given without backupName; the key of an object is in object.encryption",
      },
      {
        rule: "has(self.backupName) != has(self.object)",
        message: "it must have exactly one of backupName and object",
      },
    ],
  })
  .describe("The snapshot that is restored.");

const untilSchema = z
  .object({
    revision: z
      .string()
      .regex(/^[1-9][0-9]{0,18}$/)
      .optional()
      .describe("Restores this revision of the source and nothing after it, such as the revision before a mistake."),
    time: z
      .string()
      .meta({ format: "date-time" })
      .optional()
      .describe(
        "Restores all changes up to this time and nothing after it, such as 2026-01-31T12:00:00Z, by the clock of the pod that archives.",
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
    "A point in time after the snapshot. Changes up to then are taken from the archive beside the snapshot, which a schedule with archive keeps.",
  );

/** What a restore asks for, in an EtcdRestore and in an EtcdCluster's bootstrap. */
export const RESTORE_FIELDS = { source: sourceSchema, until: untilSchema, podTemplate: restorePodSchema };

/**
 * Rule that a restore with a service account runs only the operator's choice of etcd's image.
 * @param template path of the pod template in CEL @param image path of the cluster's image
 * @param field path of the pod template, for the message
 */
export function imageIsKnown(template: string, image: string, field: string) {
  return {
    rule: `!${template}.?spec.?serviceAccountName.hasValue() || (!${image}.?repository.hasValue() && !${image}.?digest.hasValue())`,
    message: `An image of your own would run with the identity of ${field}.spec.serviceAccountName. Remove image.repository and image.digest, or serviceAccountName.`,
  };
}
