import { hexOf } from "#etcd/types.ts";
import type { EncryptionKey } from "./archive/key.ts";
import type { Manifest } from "./archive/manifest.ts";
import type { Measures } from "./archive/pack.ts";
import { ALGORITHM } from "./archive/seal.ts";
import type { Member } from "./choose-member.ts";
import type { Content } from "./content.ts";
import type { BackupObject } from "./report.ts";
import type { BackupTask } from "./task.ts";

/** A copied snapshot and the member it was read from. */
export interface Copied {
  readonly member: Member;
  /** The snapshot holds everything acknowledged up to this revision. */
  readonly revision: bigint;
  readonly content: Content;
  readonly measures: Measures;
}

interface Facts {
  readonly task: BackupTask;
  readonly key: EncryptionKey | undefined;
  readonly copied: Copied;
  readonly attempt: string;
  readonly startedAt: string;
  readonly completedAt: string;
}

export function manifestFor({ task, key, copied, ...facts }: Facts): Manifest {
  const { status } = copied.member;
  const { namespace, backupName, clusterName, clusterUID } = task.about;
  return {
    formatVersion: 1,
    key: task.key,
    ...copied.measures,
    revision: copied.revision.toString(),
    ...copied.content,
    cluster: {
      namespace,
      ...(clusterName === undefined ? {} : { name: clusterName }),
      ...(clusterUID === undefined ? {} : { uid: clusterUID }),
      id: hexOf(status.clusterId),
    },
    memberID: hexOf(status.memberId),
    etcdVersion: status.version,
    ...facts,
    compression: task.compression,
    ...(key === undefined ? {} : { encryption: { algorithm: ALGORITHM, keyID: key.id } }),
    backupName,
    backupUID: task.backupUID,
  };
}

/** Facts about the object for the report. */
export function objectOf(manifest: Manifest): BackupObject {
  const { key, bytes, storedBytes, sha256, revision, etcdVersion, memberID, startedAt, completedAt, compression } =
    manifest;
  return {
    key,
    bytes,
    storedBytes,
    sha256,
    revision,
    etcdVersion,
    clusterID: manifest.cluster.id,
    memberID,
    startedAt,
    completedAt,
    compression,
    encrypted: manifest.encryption !== undefined,
    ...(manifest.encryption === undefined ? {} : { keyID: manifest.encryption.keyID }),
  };
}
