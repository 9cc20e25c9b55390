import { z } from "zod";

const bucket = z.string().min(1);
const endpoint = z.url({ protocol: /^https?$/ }).optional();
const destination = z.discriminatedUnion("store", [
  z.strictObject({
    store: z.literal("s3"),
    bucket,
    endpoint,
    region: z.string().optional(),
    pathStyle: z.boolean().optional(),
  }),
  z.strictObject({ store: z.literal("gcs"), bucket, endpoint }),
  z.strictObject({ store: z.literal("azure"), account: z.string().min(1), container: bucket, endpoint }),
  z.strictObject({ store: z.literal("volume"), path: z.string().startsWith("/") }),
]);
const place = {
  backupUID: z.string().min(1),
  destination,
  key: z.string().min(1),
  credentialsDir: z.string().startsWith("/").optional(),
};

/** AgentTask in task.ts tells what each field means. */
export const taskSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("backup"),
    ...place,
    source: z.strictObject({
      endpoints: z
        .array(z.url({ protocol: /^https?$/ }))
        .min(1)
        .max(100),
      clusterID: z
        .string()
        .regex(/^[1-9a-f][0-9a-f]{0,15}$/)
        .optional(),
      tlsDir: z.string().startsWith("/").optional(),
      serverName: z.string().min(1).optional(),
      authDir: z.string().startsWith("/").optional(),
    }),
    compression: z.enum(["None", "Zstd"]),
    encryption: z
      .strictObject({
        keyFile: z.string().startsWith("/"),
        keyID: z
          .string()
          .regex(/^[0-9a-f]{8}$/)
          .optional(),
      })
      .optional(),
    about: z.strictObject({
      namespace: z.string().min(1),
      backupName: z.string().min(1),
      clusterName: z.string().optional(),
      clusterUID: z.string().optional(),
    }),
  }),
  z.strictObject({ kind: z.literal("delete"), ...place }),
]);
