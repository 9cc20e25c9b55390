import { en } from "zod/locales";
import * as z from "zod/mini";
import { WORK_DIR_PREFIX } from "./task.ts";

z.config(en()); // English error messages for invalid values

const word = z.string().check(z.minLength(1));
const path = z.string().check(z.startsWith("/"));
/** Normalized, so that paths can be compared by prefix. */
const directory = z.string().check(
  z.regex(/^(\/[^/]+)+$/),
  z.refine((text) => !/\/\.{1,2}(\/|$)/.test(text), "is not a normalized path"),
);
const workDir = directory.check(
  z.refine(
    (text) => text.slice(text.lastIndexOf("/") + 1).startsWith(WORK_DIR_PREFIX),
    `must have a name that begins with ${WORK_DIR_PREFIX}`,
  ),
);
const url = z.url({ protocol: /^https?$/ });
const endpoint = z.optional(url);
const destination = z.discriminatedUnion("store", [
  z.strictObject({
    store: z.literal("s3"),
    bucket: word,
    endpoint,
    region: z.optional(word),
    pathStyle: z.optional(z.boolean()),
    storage: z.optional(
      z.strictObject({
        serverSideEncryption: z.optional(z.enum(["AES256", "aws:kms"])),
        kmsKeyID: z.optional(word),
        storageClass: z.optional(
          z.enum(["STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "REDUCED_REDUNDANCY"]),
        ),
        tags: z.optional(z.record(z.string(), z.string())),
      }),
    ),
  }),
  z.strictObject({ store: z.literal("gcs"), bucket: word, endpoint }),
  z.strictObject({ store: z.literal("azure"), account: word, container: word, endpoint }),
  z.strictObject({ store: z.literal("volume"), path }),
]);
const credentials = { credentialsDir: z.optional(path), needsCredentials: z.optional(z.boolean()) };
const place = { backupUID: word, destination, key: word, ...credentials };
const source = z.strictObject({
  endpoints: z.array(url).check(z.minLength(1), z.maxLength(100)),
  clusterID: z.optional(z.string().check(z.regex(/^[1-9a-f][0-9a-f]{0,15}$/))),
  tlsDir: z.optional(path),
  serverName: z.optional(word),
  authDir: z.optional(path),
});
const encryption = z.optional(
  z.strictObject({ keyFile: path, keyID: z.optional(z.string().check(z.regex(/^[0-9a-f]{8}$/))) }),
);

const expected = z.strictObject({
  backupUID: z.optional(word),
  sha256: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/))),
});

/** The fields are described at AgentTask in task.ts. */
export const taskSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("backup"),
    ...place,
    source,
    compression: z.enum(["None", "Zstd"]),
    encryption,
    about: z.strictObject({
      namespace: word,
      backupName: word,
      clusterName: z.optional(z.string()),
      clusterUID: z.optional(z.string()),
    }),
  }),
  z.strictObject({ kind: z.literal("delete"), ...place }),
  z.strictObject({ kind: z.literal("check"), from: destination, key: word, ...credentials, expect: expected }),
  z.strictObject({
    kind: z.literal("fetch"),
    from: destination,
    key: word,
    ...credentials,
    encryption,
    expect: z.optional(expected),
    auth: z.optional(z.enum(["Keep", "Lift"])),
    workDir,
    roomBytes: z.optional(z.int().check(z.nonnegative())),
  }),
  z
    .strictObject({ kind: z.literal("finish"), workDir, restored: directory, dataDir: directory, restoreUID: word })
    .check(
      z.refine(({ workDir, restored }) => restored.startsWith(`${workDir}/`), {
        path: ["restored"],
        error: "must be below workDir, which is deleted in the end",
      }),
      z.refine(({ workDir, dataDir }) => !`${dataDir}/`.startsWith(`${workDir}/`), {
        path: ["dataDir"],
        error: "must not be below workDir, which is deleted in the end",
      }),
    ),
  z.strictObject({ kind: z.literal("verify"), endpoint: url, workDir }),
  z.strictObject({
    kind: z.literal("list"),
    from: destination,
    prefix: z.optional(word),
    ...credentials,
  }),
  z.strictObject({
    kind: z.literal("archive"),
    source,
    destination,
    prefix: word,
    ...credentials,
    encryption,
    maxAgeSeconds: z.int().check(z.positive(), z.maximum(3600)),
    maxBytes: z.int().check(z.minimum(1024), z.maximum(64 * 1024 ** 2)),
    keepForSeconds: z.optional(z.int().check(z.positive())),
  }),
  z.strictObject({
    kind: z.literal("replay"),
    from: destination,
    key: word,
    ...credentials,
    encryption,
    prefix: word,
    until: z.union([
      z.strictObject({ revision: z.string().check(z.regex(/^[1-9][0-9]*$/)) }),
      z.strictObject({ time: z.iso.datetime({ offset: true }) }),
    ]),
    endpoint: z.string().check(z.regex(/^http:\/\/127\.0\.0\.1:\d+$/)),
    workDir,
  }),
]);
