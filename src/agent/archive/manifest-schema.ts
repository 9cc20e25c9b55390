import { en } from "zod/locales";
import * as z from "zod/mini";
import { ALGORITHM } from "./seal.ts";

z.config(en()); // English error messages for invalid values

/**
 * Text of a bounded length. Anyone with write access to the store may have written the manifest, and the kubelet
 * truncates the agent's report at 4,096 bytes.
 */
function text(maxLength: number) {
  return z.string().check(z.maxLength(maxLength));
}
/** Longest name of a Kubernetes object; a uid is shorter. */
const NAME = 253;

const bytes = z.int().check(z.nonnegative());
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const id = z.string().check(z.regex(/^[1-9a-f][0-9a-f]{0,15}$/));

/** The JSON manifest beside a stored snapshot. Unknown fields may be of a newer release and are ignored. */
export const manifestSchema = z.object({
  formatVersion: z.literal(1),
  /** Key of the object when it was stored. */
  key: z.string().check(z.minLength(1), z.maxLength(1024)),
  /** Size of the snapshot as etcd sent it, checksum included. */
  bytes,
  sha256,
  /** Size of the stored object. */
  storedBytes: bytes,
  storedSha256: sha256,
  /** The snapshot holds everything up to this revision, and perhaps later revisions. */
  revision: z.string().check(z.regex(/^[1-9][0-9]{0,18}$/)),
  cluster: z.object({ namespace: text(NAME), name: z.optional(text(NAME)), uid: z.optional(text(NAME)), id }),
  memberID: id,
  etcdVersion: text(64),
  startedAt: z.iso.datetime(),
  completedAt: z.iso.datetime(),
  compression: z.enum(["None", "Zstd"]),
  encryption: z.optional(
    z.object({ algorithm: z.literal(ALGORITHM), keyID: z.string().check(z.regex(/^[0-9a-f]{8}$/)) }),
  ),
  /** Name of the EtcdBackup. */
  backupName: text(NAME),
  backupUID: z.string().check(z.minLength(1), z.maxLength(NAME)),
  /**
   * Number of keys at `revision`, as the member reported it. Backups of older releases, or of members that do not
   * report it, lack all three fields.
   */
  keys: z.optional(bytes),
  /** Hash as `etcdctl endpoint hashkv` prints it. Comparable between etcds only at the same compact revision. */
  hashKV: z.optional(
    z.object({ hash: z.int().check(z.nonnegative()), compactRevision: z.string().check(z.regex(/^-?[0-9]{1,19}$/)) }),
  ),
  /** Whether authentication was enabled. The snapshot itself is authoritative. */
  authEnabled: z.optional(z.boolean()),
  /** The attempt that wrote the object; the object's metadata has the same ID. */
  attempt: z.string().check(z.minLength(1), z.maxLength(NAME)),
});
