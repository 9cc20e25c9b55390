import { z } from "zod";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import { objectURLTemplateSchema } from "#api/object-url-schema.ts";
import { secretName, urlSchema } from "#api/v1beta1/reference-schema.ts";

/**
 * Maximum length in characters. Stores accept keys of 1,024 bytes; the operator appends namespace, cluster, time and
 * name.
 */
const MAX_PREFIX_LENGTH = 256;

/**
 * Schema of a name.
 * @param what name of the field @param pattern in RE2 syntax @param may valid values, for the message
 */
function named(what: string, pattern: string, may: string, length: number) {
  return z
    .string()
    .max(length)
    .meta({
      "x-kubernetes-validations": [
        {
          rule: `self.matches('${pattern}')`,
          messageExpression: `'${what} is ' + self + '; it must be ${may}'`,
          message: `${what} must be ${may}`,
        },
      ],
    });
}

const bucketSchema = named(
  "bucket",
  "^[A-Za-z0-9][A-Za-z0-9._-]{1,221}$",
  "2 to 222 letters, digits, dots, dashes and underscores",
  222,
);
const PARTS = "(/[A-Za-z0-9_=@.-]*[A-Za-z0-9_=@-][A-Za-z0-9_=@.-]*)*$";
/** Schema of a path. No part is empty or consists of dots only. */
const pathSchema = (what: string) =>
  named(
    what,
    `^[A-Za-z0-9_=@.-]*[A-Za-z0-9_=@-][A-Za-z0-9_=@.-]*${PARTS}`,
    "names of letters, digits and . _ = @ - with / between them, such as shop/orders",
    MAX_PREFIX_LENGTH,
  );

const prefixSchema = pathSchema("prefix")
  .optional()
  .describe("Beginning of the object's key. The namespace, the cluster, the time and the name follow.");

/** @param keys keys of the Secret, for the description */
export function credentials(keys: string) {
  return z
    .object({ secretName: secretName.describe(`Secret with ${keys}.`) })
    .optional()
    .describe("Credentials for the store. Without it the identity that the cloud gives to the pod's account.");
}

export const s3Schema = z.object({
  bucket: bucketSchema.describe("Name of the bucket, which must exist."),
  prefix: prefixSchema,
  endpoint: urlSchema("https://minio.example.com:9000").optional().describe("URL of a server that is not AWS."),
  region: named("region", "^[A-Za-z0-9-]{1,63}$", "letters, digits and dashes, such as eu-west-1", 63)
    .optional()
    .describe("Such as eu-west-1."),
  pathStyle: z
    .boolean()
    .default(false)
    .describe("Whether the bucket is in the path instead of the host name, as self-hosted servers expect it."),
  credentials: credentials("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN and ca.crt if needed"),
});

/** Amazon's limits for the tags of an object: their number, and the length of keys and values in characters. */
const MAX_TAGS = 10;
const MAX_TAG_KEY_LENGTH = 128;
const MAX_TAG_VALUE_LENGTH = 256;
/** An ARN has up to 2,048 characters; those of keys are shorter. */
const MAX_KMS_KEY_LENGTH = 512;

/** Letters, digits, spaces and signs that Amazon permits in tags. */
const TAG = "^[A-Za-z0-9 _.:/=+@-]*$";

/** A restore reads objects, however they are stored. */
const s3DestinationSchema = s3Schema
  .extend({
    serverSideEncryption: z
      .enum(["AES256", "aws:kms"])
      .optional()
      .describe("How the store encrypts the objects. By default the bucket's own encryption applies."),
    kmsKeyID: z
      .string()
      .min(1)
      .max(MAX_KMS_KEY_LENGTH)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self.matches('^[A-Za-z0-9:/_-]+$')",
            messageExpression: "'kmsKeyID is ' + self + '; it must be the ID, the ARN or the alias of a key'",
            message: "kmsKeyID must be the ID, the ARN or the alias of a key",
          },
        ],
      })
      .optional()
      .describe(
        "Key of AWS KMS, with serverSideEncryption aws:kms. By default the account's KMS key for S3 (aws/s3) is used.",
      ),
    storageClass: z
      .enum(["STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "REDUCED_REDUNDANCY"])
      .optional()
      .describe(
        "Storage class of the objects. By default the store chooses it. Classes from which objects cannot be read at once, such as GLACIER, are refused.",
      ),
    tags: z
      .record(z.string(), z.string().max(MAX_TAG_VALUE_LENGTH))
      .meta({
        maxProperties: MAX_TAGS,
        "x-kubernetes-validations": [
          {
            rule: `self.all(key, key != '' && key.size() <= ${MAX_TAG_KEY_LENGTH} && !key.startsWith('aws:') && key.matches('${TAG}') && self[key].matches('${TAG}'))`,
            message: `keys of tags must have 1 to ${MAX_TAG_KEY_LENGTH} characters and not begin with aws:. Tags may have letters, digits, spaces and _ . : / = + @ -`,
          },
        ],
      })
      .optional()
      .describe("Tags of the objects. They need the right s3:PutObjectTagging."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.kmsKeyID) || (has(self.serverSideEncryption) && self.serverSideEncryption == 'aws:kms')",
        message: "with kmsKeyID, serverSideEncryption must be aws:kms",
      },
    ],
  });

export const gcsSchema = z.object({
  bucket: bucketSchema.describe("Name of the bucket, which must exist."),
  prefix: prefixSchema,
  endpoint: urlSchema("https://storage.example.com").optional().describe("URL of a server that is not Google's."),
  credentials: credentials("credentials.json: the key of a service account, or an external_account"),
});

export const azureSchema = z.object({
  account: named("account", "^[a-z0-9]{3,24}$", "3 to 24 lower case letters and digits", 24).describe(
    "Name of the storage account.",
  ),
  container: named(
    "container",
    "^([$]root|[a-z0-9][a-z0-9-]{2,62})$",
    "3 to 63 lower case letters, digits and dashes",
    63,
  ).describe("Name of the container, which must exist."),
  prefix: prefixSchema,
  endpoint: z
    .string()
    .max(512)
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "self.matches('^https?://[^/?#@[:space:][:cntrl:]]+(/[A-Za-z0-9-]*)?$')",
          messageExpression:
            "'it is ' + self + '; it must be http:// or https://, a host and a port, such as https://blobs.example.com'",
          message: "it must be http:// or https://, a host and a port, such as https://blobs.example.com",
        },
      ],
    })
    .optional()
    .describe("URL of a server that is not Azure's, with the account as its path if the server expects it there."),
  credentials: credentials("AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"),
});

export const volumeSchema = z.object({
  claimName: z
    .string()
    .min(1)
    .max(253)
    .describe(
      `Name of a PersistentVolumeClaim in the same namespace, with the label ${BACKUP_DESTINATION_LABEL}: "true". The group of all files there becomes the agent's. Never the claim of a member.`,
    ),
  path: pathSchema("path")
    .optional()
    .describe("The directory below which objects are kept. Without it the root of the volume."),
});

const urlDestinationSchema = z.object({
  template: objectURLTemplateSchema,
  credentials: credentials("what the store of the URL wants").describe(
    "Credentials for the store. Without it the Secret etcd-backup-credentials, when there is one.",
  ),
});

const KINDS = ["s3", "gcs", "azure", "volume", "url"];

export const destinationSchema = z
  .object({
    s3: s3DestinationSchema.optional().describe("Amazon S3, or a compatible server."),
    gcs: gcsSchema.optional().describe("Google Cloud Storage."),
    azure: azureSchema.optional().describe("Azure Blob Storage."),
    volume: volumeSchema.optional().describe("A volume of Kubernetes."),
    url: urlDestinationSchema.optional().describe("A store and the whole key, as one URL."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `[${KINDS.map((kind) => `has(self.${kind})`).join(", ")}].exists_one(each, each)`,
        message: "destination must have exactly one of s3, gcs, azure, volume and url",
      },
    ],
  })
  .describe("Where the object is stored. Existing objects are never overwritten.");
