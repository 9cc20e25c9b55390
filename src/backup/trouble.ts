import { AGENT, type Attempted, reportedFailure, type Workers } from "#agent-job/job-state.ts";
import { podTroubleOf } from "#agent-job/pod-trouble.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { type Lack, sourceSecret } from "#backup/source.ts";
import { targetOf } from "#backup/target.ts";

/** Why no pod of the Job is running; `undefined` when one is. @param workers the pod ends with the last of them */
export function troubleOf(snapshot: BackupSnapshot, attempted: Attempted, workers: Workers = AGENT): Lack | undefined {
  return podTroubleOf(attempted, {
    workers,
    warnings: snapshot.warnings,
    secretNames: secretNamesOf(snapshot),
    failure: reportedFailure(attempted, workers),
    working: "BackingUp",
  });
}

/** Secrets that the pod mounts and cannot start without. */
export function secretNamesOf(snapshot: BackupSnapshot): readonly string[] {
  const { source, encryption } = snapshot.backup.spec;
  const target = targetOf(snapshot);
  const credentials = typeof target === "string" || target.credentials?.isOptional ? undefined : target.credentials;
  const tls = sourceSecret(snapshot)?.name;
  const names = [credentials?.secretName, encryption?.keySecretRef.name, tls, source.external?.auth?.secretName];
  return [...new Set(names.filter((name) => name !== undefined))];
}
