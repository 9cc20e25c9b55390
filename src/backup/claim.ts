import {
  BACKUP_DESTINATION_LABEL,
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLUSTER_LABEL,
  PEER_LABEL,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import { isFull } from "#backup/running.ts";
import { type BackupSnapshot, hasEnded } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";

// Why must a claim consent?
//   The backup's pod writes to the claim, and its fsGroup makes Kubernetes change group and mode of all files. A
//   database on a claim named by mistake would fail to start. So the claim's owner must label it as a backup
//   destination.

const FIELD = "spec.destination.volume.claimName";

/** Why the claim can never be a destination, whatever its labels: it holds a member's data. */
export function memberClaimText({ backup, claim, namesake }: BackupSnapshot): string | undefined {
  const { volume } = backup.spec.destination;
  if (volume === undefined) return undefined;
  const { labels = {}, annotations = {} } = claim?.metadata ?? {};
  const isMembers =
    namesake !== undefined ||
    [CLUSTER_LABEL, PEER_LABEL, QUARANTINE_LABEL].some((label) => label in labels) ||
    CLAIM_CLUSTER_ID_ANNOTATION in annotations;
  if (!isMembers) return undefined;
  const cluster = labels[CLUSTER_LABEL] ?? namesake?.metadata.name;
  const what = cluster === undefined ? "an EtcdCluster" : `EtcdCluster ${cluster}`;
  return `${FIELD} is ${volume.claimName}, which is for the data of a member of ${what}; it must be another claim`;
}

/** Problem with the named claim; `undefined` when a pod may mount it, or none is named. */
export function lackOfClaim(snapshot: BackupSnapshot): Lack | undefined {
  const { backup, claim, running } = snapshot;
  const { volume } = backup.spec.destination;
  if (volume === undefined) return undefined;
  const refusal = memberClaimText(snapshot);
  if (refusal !== undefined) return { reason: "SpecRefused", message: refusal };
  const { claimName } = volume;
  // It is not read while other backups run first.
  if (claim === undefined && !hasEnded(snapshot) && running !== undefined && isFull(running)) return undefined;
  if (claim === undefined) {
    const message = `${FIELD} is ${claimName}, which this namespace does not have`;
    return { reason: "ClaimNotAllowed", message };
  }
  // An archive's pod never ends, so no pod that takes a snapshot would ever start. One that stores already continues.
  const { accessModes: modes = [] } = claim.spec ?? {};
  const isNewArchive = backup.spec.archive !== undefined && backup.status?.objectKey === undefined;
  if (isNewArchive && modes.includes("ReadWriteOncePod")) {
    const message = `${FIELD} is ${claimName}, which has the access mode ReadWriteOncePod. With spec.archive it must be ReadWriteMany or ReadWriteOnce. The archive's pod mounts the claim permanently, together with the pods that take snapshots`;
    return { reason: "ClaimNotAllowed", message };
  }
  if (claim.metadata.labels?.[BACKUP_DESTINATION_LABEL] === "true") return undefined;
  const how = `kubectl label persistentvolumeclaim ${claimName} ${BACKUP_DESTINATION_LABEL}=true`;
  const message = `${FIELD} is ${claimName}, which is not labelled as a backup destination; if it is one, run: ${how}`;
  return { reason: "ClaimNotAllowed", message };
}
