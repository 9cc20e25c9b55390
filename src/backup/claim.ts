import {
  BACKUP_DESTINATION_LABEL,
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLUSTER_LABEL,
  PEER_LABEL,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import type { Lack } from "#backup/source.ts";

// Why must a claim consent?
//   The pod of a backup writes to the claim, and has Kubernetes change the group and the mode of all that is on it: a database whose
//   claim was named by mistake would not start any more. So whoever owns the claim says by a label that backups are meant to lie there.

const FIELD = "spec.destination.volume.claimName";

/** Why the destination is never to be used, whatever its labels say: it is for the data of a member. */
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
  const whose = cluster === undefined ? "an EtcdCluster" : `EtcdCluster ${cluster}`;
  return `${FIELD} is ${volume.claimName}, which is for the data of a member of ${whose}; it must be another claim`;
}

/** What is missing of the claim that is named; `undefined` when a pod may mount it, or none is named. */
export function lackOfClaim(snapshot: BackupSnapshot): Lack | undefined {
  const { backup, claim } = snapshot;
  const { volume } = backup.spec.destination;
  if (volume === undefined) return undefined;
  const refusal = memberClaimText(snapshot);
  if (refusal !== undefined) return { reason: "SpecRefused", message: refusal };
  const { claimName } = volume;
  if (claim === undefined) {
    const message = `${FIELD} is ${claimName}, and there is no such claim in this namespace`;
    return { reason: "ClaimNotAllowed", message };
  }
  if (claim.metadata.labels?.[BACKUP_DESTINATION_LABEL] === "true") return undefined;
  const how = `kubectl label persistentvolumeclaim ${claimName} ${BACKUP_DESTINATION_LABEL}=true`;
  const message = `${FIELD} is ${claimName}, which does not say that backups may be stored on it: ${how}`;
  return { reason: "ClaimNotAllowed", message };
}
