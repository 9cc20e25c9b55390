import { AgentError } from "../error.ts";
import { BboltFile } from "./bbolt-file.ts";

/** Facts in the pages of etcd's database; buckets and keys are named in etcd's server/storage/schema. */
export interface SnapshotFacts {
  /** Revision at which a member with this data starts. */
  readonly revision: bigint;
  /** Whether authentication is enabled. */
  readonly authEnabled: boolean;
  /** Cluster version, such as "3.6.0"; undefined before the members have agreed on one. */
  readonly clusterVersion?: string;
}

/** Limit, since the kubelet truncates the agent's report at 4,096 bytes; "3.6.0" has five. */
const MAX_VERSION_BYTES = 64;

/**
 * Reads a snapshot, or the database of an etcd that is not running.
 * @throws AgentError SnapshotCorrupt when it is not a database of etcd
 */
export async function factsOf(path: string): Promise<SnapshotFacts> {
  await using file = await BboltFile.open(path);
  const compactions = await Promise.all(
    ["scheduledCompactRev", "finishedCompactRev"].map((key) => file.get("meta", key)),
  );
  const consistentIndex = await file.get("meta", "consistent_index");
  if (consistentIndex === undefined) {
    throw new AgentError("SnapshotCorrupt", `${path} is a bbolt database, but not one of etcd`);
  }
  // Like etcd at its start: when the newest keys were deleted and compacted, the compaction revision is newer than
  // every key.
  const revisions = [await file.lastKey("key"), ...compactions].map((bytes) => mainOf(bytes, path));
  const enabled = await file.get("auth", "authEnabled");
  const version = await file.get("cluster", "clusterVersion");
  if (version !== undefined && version.length > MAX_VERSION_BYTES)
    throw new AgentError("SnapshotCorrupt", `${path} has a cluster version of ${version.length} bytes`);
  return {
    revision: revisions.reduce((a, b) => (a > b ? a : b), 1n),
    authEnabled: enabled?.equals(Buffer.from([1])) ?? false,
    ...(version === undefined ? {} : { clusterVersion: version.toString("utf8") }),
  };
}

/** Main part of a revision, from a key of the bucket `key`: 8 bytes, `_`, 8 bytes, and `t` for a deletion. */
function mainOf(bytes: Buffer | undefined, path: string): bigint {
  if (bytes === undefined) return 0n;
  if (bytes.length < 17) throw new AgentError("SnapshotCorrupt", `${path} has a revision of ${bytes.length} bytes`);
  return bytes.readBigInt64BE();
}
