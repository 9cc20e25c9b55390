import { z } from "zod";
import { ALGORITHM } from "./seal.ts";

const bytes = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const id = z.string().regex(/^[1-9a-f][0-9a-f]{0,15}$/);

/** What lies beside a stored snapshot, as JSON. Fields that are not known may be of a newer release, and are left alone. */
export const manifestSchema = z.object({
  formatVersion: z.literal(1),
  /** Of the object that it describes. */
  key: z.string().min(1),
  /** Of the snapshot as etcd sent it, checksum included. */
  bytes,
  sha256,
  /** Of the object. */
  storedBytes: bytes,
  storedSha256: sha256,
  /** The snapshot holds everything up to it, and perhaps a little more. */
  revision: z.string().regex(/^[1-9][0-9]*$/),
  cluster: z.object({ namespace: z.string(), name: z.string().optional(), uid: z.string().optional(), id }),
  memberID: id,
  etcdVersion: z.string(),
  startedAt: z.iso.datetime(),
  completedAt: z.iso.datetime(),
  compression: z.enum(["None", "Zstd"]),
  encryption: z.object({ algorithm: z.literal(ALGORITHM), keyID: z.string().regex(/^[0-9a-f]{8}$/) }).optional(),
  /** Of the EtcdBackup. */
  backupName: z.string(),
  backupUID: z.string().min(1),
  /** Which attempt at this backup wrote the object; the object's metadata says the same. */
  attempt: z.string().min(1),
});
