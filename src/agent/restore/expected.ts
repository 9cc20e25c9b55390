import type { StoredObject } from "#objectstore/store.ts";
import type { Manifest } from "../archive/manifest.ts";
import type { SnapshotFacts } from "../bbolt/snapshot-facts.ts";
import { AgentError } from "../error.ts";
import type { FetchTask } from "../task.ts";

type Wanted = Pick<FetchTask, "expect" | "auth">;

/**
 * Check before the first byte whether the object can be the expected one. @throws AgentError SnapshotCorrupt,
 * AuthEnabled
 */
export function checkManifest(manifest: Manifest, object: StoredObject, { expect = {}, auth }: Wanted): void {
  const { key, storedBytes, backupUID, sha256, authEnabled } = manifest;
  if (object.bytes !== storedBytes) {
    throw corrupt(`${key} has ${object.bytes} bytes, but its manifest has ${storedBytes}`);
  }
  if (expect.backupUID !== undefined && backupUID !== expect.backupUID) {
    throw corrupt(`${key} is of the backup with uid ${backupUID}; it must be that of ${expect.backupUID}`);
  }
  if (expect.sha256 !== undefined && sha256 !== expect.sha256) throw otherSHA256(key, sha256, expect.sha256);
  if (authEnabled === true && auth === undefined) throw authIsEnabled(key);
}

/** Check of the complete snapshot. @throws AgentError SnapshotCorrupt, AuthEnabled */
export function checkExpected(
  { expect = {}, auth }: Wanted,
  manifest: Manifest | undefined,
  { key, sha256, revision, authEnabled }: SnapshotFacts & { readonly key: string; readonly sha256: string },
): void {
  if (expect.sha256 !== undefined && sha256 !== expect.sha256) throw otherSHA256(key, sha256, expect.sha256);
  if (manifest !== undefined && revision < BigInt(manifest.revision)) {
    throw corrupt(`${key} ends at revision ${revision}, but its manifest has revision ${manifest.revision}`);
  }
  if (authEnabled && auth === undefined) throw authIsEnabled(key);
}

function otherSHA256(key: string, is: string, expected: string): AgentError {
  return corrupt(`${key} is another snapshot: its SHA-256 is ${is}; it must be ${expected}`);
}

function authIsEnabled(key: string): AgentError {
  return new AgentError(
    "AuthEnabled",
    `authentication is enabled in ${key}, so its members would reject the operator. Restore it into a cluster with spec.auth.enabled and client certificates (spec.tls.client). Or restore it by hand with etcdutl, run \`etcdctl auth disable\`, take a backup of that, and restore from it`,
  );
}

function corrupt(message: string): AgentError {
  return new AgentError("SnapshotCorrupt", message);
}
