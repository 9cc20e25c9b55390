import { en } from "zod/locales";
import * as z from "zod/mini";
import { ALGORITHM } from "./seal.ts";

z.config(en()); // the words for what is wrong with a value

const bytes = z.int().check(z.nonnegative());
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const id = z.string().check(z.regex(/^[1-9a-f][0-9a-f]{0,15}$/));

/** What lies beside a stored snapshot, as JSON. Fields that are not known may be of a newer release, and are left alone. */
export const manifestSchema = z.object({
  formatVersion: z.literal(1),
  /** Of the object that it describes. */
  key: z.string().check(z.minLength(1)),
  /** Of the snapshot as etcd sent it, checksum included. */
  bytes,
  sha256,
  /** Of the object. */
  storedBytes: bytes,
  storedSha256: sha256,
  /** The snapshot holds everything up to it, and perhaps a little more. */
  revision: z.string().check(z.regex(/^[1-9][0-9]*$/)),
  cluster: z.object({ namespace: z.string(), name: z.optional(z.string()), uid: z.optional(z.string()), id }),
  memberID: id,
  etcdVersion: z.string(),
  startedAt: z.iso.datetime(),
  completedAt: z.iso.datetime(),
  compression: z.enum(["None", "Zstd"]),
  encryption: z.optional(
    z.object({ algorithm: z.literal(ALGORITHM), keyID: z.string().check(z.regex(/^[0-9a-f]{8}$/)) }),
  ),
  /** Of the EtcdBackup. */
  backupName: z.string(),
  backupUID: z.string().check(z.minLength(1)),
  /** At `revision`, as the member told; of a backup by an older release, or where it would not tell, all three are missing. */
  keys: z.optional(bytes),
  /** As `etcdctl endpoint hashkv` prints it. It says the same of another etcd only at the same compact revision. */
  hashKV: z.optional(
    z.object({ hash: z.int().check(z.nonnegative()), compactRevision: z.string().check(z.regex(/^-?[0-9]+$/)) }),
  ),
  /** Whether users and roles were switched on. The snapshot itself has the last word. */
  authEnabled: z.optional(z.boolean()),
  /** Which attempt at this backup wrote the object; the object's metadata says the same. */
  attempt: z.string().check(z.minLength(1)),
});
