import { z } from "zod";
import { DEFAULT_ARCHIVE } from "#api/backup-conversion.ts";
import { SET, spanSchema } from "#api/common-schema.ts";
import { destinationSchema } from "#api/v1beta1/destination-schema.ts";
import { backupPodSchema } from "#api/v1beta1/job-pod-schema.ts";
import { secretName, urlSchema } from "#api/v1beta1/reference-schema.ts";

/**
 * Maximum number of endpoints, more than the recommended number of members. The API server needs a bound to estimate
 * the cost of CEL rules.
 */
const MAX_ENDPOINTS = 16;

const externalSchema = z
  .object({
    endpoints: z
      .array(urlSchema("https://etcd.example.com:2379"))
      .min(1)
      .max(MAX_ENDPOINTS)
      .meta(SET)
      .describe(
        "Client URLs of its members, such as https://etcd.example.com:2379. The snapshot is taken from one of them, preferably a healthy follower.",
      ),
    tls: z
      .object({
        secretName: secretName
          .optional()
          .describe(
            "Secret with ca.crt (otherwise public CAs are trusted), and tls.crt and tls.key if etcd asks for a certificate. Never the Secret of an EtcdCluster's CA.",
          ),
        serverName: z
          .string()
          .min(1)
          .max(253)
          .optional()
          .describe("The name in etcd's certificates. Without it the host of the endpoint."),
      })
      .optional()
      .describe("The CA to trust and the certificate to show, at endpoints that begin with https://."),
    auth: z
      .object({
        secretName: secretName.describe("Secret with ETCD_USERNAME and ETCD_PASSWORD of a user with the role root."),
      })
      .optional()
      .describe(
        "The user that logs in, when authentication is enabled in etcd. Every endpoint must then begin with https://.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.tls) || self.endpoints.all(each, each.startsWith('https://'))",
        message: "with tls, every endpoint must begin with https://",
      },
      {
        rule: "!has(self.auth) || self.endpoints.all(each, each.startsWith('https://'))",
        message: "with auth, every endpoint must begin with https://; else the password could be read on the way",
      },
    ],
  })
  .describe("Any other etcd.");

const sourceSchema = z
  .object({
    cluster: z
      .object({
        name: z.string().min(1).max(52).describe("Name of the EtcdCluster, in the same namespace."),
      })
      .optional()
      .describe("An EtcdCluster. The operator knows its members, and has a certificate and a user there."),
    external: externalSchema.optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.cluster) != has(self.external)",
        message: "source must have exactly one of cluster and external",
      },
    ],
  })
  .describe("The etcd of which a snapshot is taken.");

export const encryptionSchema = z
  .object({
    keySecretRef: z
      .object({
        name: secretName.describe("Name of a Secret in the same namespace."),
        key: z
          .string()
          .min(1)
          .max(253)
          .default("key")
          .describe("Key of the Secret with the encryption key: 32 bytes, or their text in hexadecimal or base64."),
      })
      .describe("Where the key is. Without the key the backup cannot be restored."),
  })
  .describe("Encrypts the object with AES-256-GCM before it leaves the pod.");

/** Fields of an EtcdBackup and of a schedule's backup template. In the template they are mutable. */
export const backupFieldsSchema = z.object({
  source: sourceSchema,
  destination: destinationSchema,
  compression: z
    .enum(["None", "Zstd"])
    .default("None")
    .describe("None: etcdutl can restore the object as it is. Zstd: it can after `zstd -d`."),
  encryption: encryptionSchema.optional(),
  deletionPolicy: z
    .enum(["Retain", "Delete"])
    .default("Retain")
    .describe(
      "What happens to the stored object when the EtcdBackup is deleted. Delete: it is deleted first; with the annotation etcd.improbable.io/keep-object it stays.",
    ),
  podTemplate: backupPodSchema,
  activeDeadlineSeconds: z
    .number()
    .int()
    .min(1)
    .max(2_592_000)
    .optional()
    .describe(
      "As in a Job: how long the backup may take with all its attempts. Without it as long as bytes move; an attempt without progress for five minutes has failed.",
    ),
  verification: z
    .object({
      mode: z
        .enum(["None", "Restore"])
        .default("None")
        .describe(
          "Restore: a pod fetches the stored object, restores it into an etcd, and compares its data with the member's. The condition Verified shows the result.",
        ),
    })
    .default({ mode: "None" })
    .describe("Whether the stored object is verified. It may be set later, too, but not taken back."),
});

export const archiveSchema = z
  .object({
    maxAge: spanSchema(["1s", "1h", "10s"])
      .default(DEFAULT_ARCHIVE.maxAge)
      .describe("How old a change may get before it is stored. At most this much is lost when all members are lost."),
    keepFor: spanSchema(["1h", "3650d", "7d"])
      .default(DEFAULT_ARCHIVE.keepFor)
      .describe("Changes older than this are deleted: a restore can choose a time this far back."),
  })
  .describe(
    "Only an EtcdBackupSchedule with spec.archive sets this. It stores every change as it happens, instead of one snapshot, in the folder changes beside the cluster's snapshots; it never completes. With a snapshot and the changes after it, an EtcdRestore brings back any revision or time.",
  );

/**
 * Rules for the immutable fields, one for each. A single rule would exceed the API server's cost limit: its estimate is
 * high for optional values.
 */
const LASTING = Object.entries({ ...backupFieldsSchema.shape, archive: archiveSchema.optional() })
  .filter(([field]) => field !== "verification")
  .map(([field, schema]) => {
    const isSame = `self.${field} == oldSelf.${field}`;
    const isThere = `has(self.${field})`;
    return schema.safeParse(undefined).success && schema.parse(undefined) === undefined
      ? `${isThere} == has(oldSelf.${field}) && (!${isThere} || ${isSame})`
      : isSame;
  });

export const backupSpecSchema = backupFieldsSchema
  .extend({ archive: archiveSchema.optional() })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: LASTING.join(" && "),
        message: "only spec.verification can be changed after creation; create another EtcdBackup",
      },
      {
        rule: "oldSelf.verification.mode == 'None' || self.verification == oldSelf.verification",
        message: "verification cannot be taken back; a backup is verified once",
      },
      {
        rule: "!has(self.archive) || !has(self.destination.url)",
        message: "with archive, destination must be one of s3, gcs, azure and volume: it has many objects",
      },
      {
        rule: "!has(self.archive) || (self.deletionPolicy == 'Retain' && !has(self.activeDeadlineSeconds))",
        message:
          "with archive, deletionPolicy must be Retain, since archive.keepFor limits how long changes are kept, and activeDeadlineSeconds has no meaning",
      },
    ],
  })
  .describe("One snapshot of an etcd cluster, stored as one object.");
