import {
  AUTH_KEYS,
  encryptionVolumes,
  MOUNTS,
  type Mounted,
  part,
  secretVolume,
  TLS_KEYS,
} from "#agent-job/volumes.ts";
import { SOURCE_TLS_VOLUME } from "#backup/reach.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { sourceSecret } from "#backup/source.ts";

/** Further volumes of the pod that takes the snapshot. */
export function sourceVolumes(snapshot: BackupSnapshot): readonly Mounted[] {
  const { source, encryption } = snapshot.backup.spec;
  const auth = source.external?.auth;
  const tls = sourceSecret(snapshot);
  return [
    ...encryptionVolumes(encryption?.keySecretRef),
    ...(tls === undefined
      ? []
      : [secretVolume(SOURCE_TLS_VOLUME, MOUNTS.sourceTLS, [part(tls.name, TLS_KEYS, tls.isOptional)])]),
    ...(auth === undefined ? [] : [secretVolume("source-auth", MOUNTS.sourceAuth, [part(auth.secretName, AUTH_KEYS)])]),
  ];
}
