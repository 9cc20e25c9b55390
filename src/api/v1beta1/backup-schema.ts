import { z } from "zod";
import { DEFAULT_BACKUP_RESOURCES } from "#api/backup-conversion.ts";
import { resourcesSchema } from "#api/common-schema.ts";
import { destinationSchema } from "#api/v1beta1/destination-schema.ts";
import { secretName, urlSchema } from "#api/v1beta1/reference-schema.ts";

/** More members than etcd should have; the API server needs a bound to know what a rule costs. */
const MAX_ENDPOINTS = 16;

const sourceSchema = z
  .object({
    clusterName: z
      .string()
      .min(1)
      .max(52)
      .optional()
      .describe("Name of an EtcdCluster in the same namespace. This, or endpoints."),
    endpoints: z
      .array(urlSchema("https://etcd.example.com:2379"))
      .min(1)
      .max(MAX_ENDPOINTS)
      .optional()
      .describe(
        "Client URLs of the members of an etcd that this operator need not run, such as https://etcd.example.com:2379. The snapshot is taken from one of them, a healthy follower as a rule.",
      ),
    tls: z
      .object({
        secretName: secretName
          .optional()
          .describe(
            "Secret with ca.crt (else the usual authorities are trusted), and tls.crt and tls.key if etcd asks for a certificate. Never that of an EtcdCluster's authority.",
          ),
        serverName: z
          .string()
          .min(1)
          .max(253)
          .optional()
          .describe("The name that etcd's certificates carry. Without it the host of the endpoint."),
      })
      .optional()
      .describe("Whom to trust, and what to show, at endpoints that begin with https://."),
    auth: z
      .object({
        secretName: secretName.describe("Secret with ETCD_USERNAME and ETCD_PASSWORD of a user with the role root."),
      })
      .optional()
      .describe("Who logs in, where etcd's authentication is on. Every endpoint must begin with https:// then."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.clusterName) != has(self.endpoints)",
        message: "source must have exactly one of clusterName and endpoints",
      },
      {
        rule: "!has(self.clusterName) || (!has(self.tls) && !has(self.auth))",
        message: "tls and auth go with endpoints; with clusterName the operator knows how to get in",
      },
      {
        rule: "!has(self.tls) || !has(self.endpoints) || self.endpoints.all(each, each.startsWith('https://'))",
        message: "with tls, every endpoint must begin with https://",
      },
      {
        rule: "!has(self.auth) || !has(self.endpoints) || self.endpoints.all(each, each.startsWith('https://'))",
        message: "with auth, every endpoint must begin with https://; else the password could be read on the way",
      },
    ],
  })
  .describe("Of which etcd a snapshot is taken.");

export const encryptionSchema = z
  .object({
    keySecret: z
      .object({
        name: secretName.describe("Name of a Secret in the same namespace."),
        key: z
          .string()
          .min(1)
          .max(253)
          .default("key")
          .describe("Which key of the Secret holds 32 bytes, or their text in hexadecimal or base64."),
      })
      .describe("Where the key is. Who loses it has lost the backup."),
  })
  .describe("Encrypts the object with AES-256-GCM before it leaves the pod.");

/** All that may be said of a backup. A schedule's template is the same, and may be edited. */
export const backupFieldsSchema = z.object({
  source: sourceSchema,
  destination: destinationSchema,
  compression: z
    .enum(["None", "Zstd"])
    .default("None")
    .describe("None: the object is what etcdutl restores. Zstd: `zstd -d` makes it that."),
  encryption: encryptionSchema.optional(),
  objectPolicy: z
    .enum(["Keep", "Delete"])
    .default("Keep")
    .describe(
      "What becomes of the stored object when the EtcdBackup is deleted. Delete: it is deleted first; the annotation etcd.improbable.io/keep-object lets the EtcdBackup go without.",
    ),
  serviceAccountName: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe(
      "Under which account of the namespace the pod runs, for clouds that give it an identity. It gets no token of Kubernetes.",
    ),
  resources: resourcesSchema
    .default(DEFAULT_BACKUP_RESOURCES)
    .describe("Compute resources of the pod, as in a Pod. It takes the same memory for any size of data."),
  activeDeadlineSeconds: z
    .number()
    .int()
    .min(1)
    .max(2_592_000)
    .optional()
    .describe(
      "As of a Job: how long it may take with all its attempts. Without it as long as bytes move; one that stands still for five minutes has failed.",
    ),
  verify: z
    .boolean()
    .default(false)
    .describe(
      "Whether the stored object is fetched again once it is there, made an etcd of in a pod, and its data compared with what the member had; the condition Verified tells how that went. It may be set later, too, and not be taken back.",
    ),
});

/** A week. */
const DEFAULT_KEEP_SECONDS = 604_800;

export const archiveSchema = z
  .object({
    maxAgeSeconds: z
      .number()
      .int()
      .min(1)
      .max(3_600)
      .default(10)
      .describe("How old a change may get until it is stored: so much is lost at most when all is lost."),
    keepForSeconds: z
      .number()
      .int()
      .min(3_600)
      .max(315_360_000)
      .default(DEFAULT_KEEP_SECONDS)
      .describe("What is older is deleted: so far back a restore can choose its time."),
  })
  .describe(
    "Stores every change as it happens, below the folder changes beside the cluster's snapshots, in place of one snapshot; it never completes. With a snapshot and what changed after it, an EtcdRestore brings back any revision or time.",
  );

/** What is decided once, each for itself: the API server estimates what a rule costs, and two optional values are as dear as can be. */
const LASTING = Object.entries({ ...backupFieldsSchema.shape, archive: archiveSchema.optional() })
  .filter(([field]) => field !== "verify")
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
        message: "of spec only verify can be changed after creation; make another EtcdBackup",
      },
      {
        rule: "self.verify || !oldSelf.verify",
        message: "verify cannot be taken back; a backup is verified once",
      },
      {
        rule: "!has(self.archive) || !has(self.destination.url)",
        message: "with archive, destination must be one of s3, gcs, azure and volume: it has many objects",
      },
      {
        rule: "!has(self.archive) || (self.objectPolicy == 'Keep' && !has(self.activeDeadlineSeconds))",
        message:
          "with archive, objectPolicy must be Keep, since keepForSeconds says how long what is stored stays, and activeDeadlineSeconds has no meaning",
      },
    ],
  })
  .describe("One snapshot of an etcd cluster, stored as one object.");
