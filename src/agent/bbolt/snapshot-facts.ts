import { AgentError } from "../error.ts";
import { BboltFile } from "./bbolt-file.ts";

/** What the pages of etcd's database tell; the names of buckets and keys are those of etcd's server/storage/schema. */
export interface SnapshotFacts {
  /** At which a member with this data starts. */
  readonly revision: bigint;
  /** Users and roles are switched on. */
  readonly authEnabled: boolean;
  /** Major and minor release, as "3.6.0"; undefined before a cluster has agreed on one. */
  readonly clusterVersion?: string;
}

/**
 * Reads a snapshot, or the database in a data directory whose etcd does not run.
 * @throws AgentError SnapshotCorrupt when it is none of etcd
 */
export async function factsOf(path: string): Promise<SnapshotFacts> {
  await using file = await BboltFile.open(path);
  const compactions = await Promise.all(
    ["scheduledCompactRev", "finishedCompactRev"].map((key) => file.get("meta", key)),
  );
  const consistentIndex = await file.get("meta", "consistent_index");
  if (consistentIndex === undefined) {
    throw new AgentError("SnapshotCorrupt", `${path} is a database of bbolt, and not one of etcd`);
  }
  // As etcd does when it starts: where the newest keys were deleted and compacted away, the compaction is newer than every key.
  const revisions = [await file.lastKey("key"), ...compactions].map((bytes) => mainOf(bytes, path));
  const enabled = await file.get("auth", "authEnabled");
  const version = await file.get("cluster", "clusterVersion");
  return {
    revision: revisions.reduce((a, b) => (a > b ? a : b), 1n),
    authEnabled: enabled?.equals(Buffer.from([1])) ?? false,
    ...(version === undefined ? {} : { clusterVersion: version.toString("utf8") }),
  };
}

/** The main part of a revision, which is a key of the bucket `key`: 8 bytes, `_`, 8 bytes, and `t` for a deletion. */
function mainOf(bytes: Buffer | undefined, path: string): bigint {
  if (bytes === undefined) return 0n;
  if (bytes.length < 17) throw new AgentError("SnapshotCorrupt", `${path} has a revision of ${bytes.length} bytes`);
  return bytes.readBigInt64BE();
}
