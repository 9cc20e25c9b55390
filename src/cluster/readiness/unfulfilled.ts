import { isAuthWanted } from "#api/auth.ts";
import type { Reason } from "#api/conditions.ts";
import { authReady } from "#cluster/auth/auth-ready.ts";
import { stateOf } from "#cluster/auth/hindrance.ts";
import { type ClusterSnapshot, isPaused } from "#cluster/snapshot.ts";
import { isOutdated } from "#cluster/update/next-template.ts";
import { pendingRelease } from "#cluster/update/pending-release.ts";
import { awaitedText, waitingForDeletion } from "#cluster/update/update-status.ts";
import { pendingTls } from "#cluster-tls/change/progress.ts";
import type { Case } from "./verdict.ts";

interface Unfulfilled {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * The part of the spec that is not carried out yet, or not known to be, although no rule reports it. What was carried
 * out once stays so when an observation is less complete than the one before.
 */
export function unfulfilled(input: Pick<Case, "snapshot" | "plan">): Unfulfilled | undefined {
  const { snapshot } = input;
  return unfulfilledTls(input) ?? pendingRelease(snapshot) ?? unfulfilledTemplates(snapshot) ?? unfulfilledAuth(input);
}

function unfulfilledTls({ snapshot }: Pick<Case, "snapshot">): Unfulfilled | undefined {
  const pending = pendingTls(snapshot);
  if (pending === undefined) return undefined;
  const awaited = waitingForDeletion(snapshot);
  const message = awaited.length === 0 ? pending : `${pending}; ${awaitedText(awaited)}`;
  return { reason: "CertificatesChanging", message };
}

/**
 * Members that would restart with their previous template (updateStrategy OnDelete; others have reason Rolling). During
 * a pause, held-by-pause.ts reports an edit first. A difference without an edit, such as a new CA, does not affect Ready
 * until the pause ends.
 */
function unfulfilledTemplates(snapshot: ClusterSnapshot): Unfulfilled | undefined {
  if (isPaused(snapshot)) return undefined;
  const names = snapshot.peers.filter((peer) => isOutdated(snapshot, peer)).map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  const message = `${names.join(", ")} ${names.length === 1 ? "has" : "have"} yet to get the new template`;
  return { reason: "Waiting", message };
}

/** While etcd does not answer, the previous condition counts. */
function unfulfilledAuth(input: Pick<Case, "snapshot" | "plan">): Unfulfilled | undefined {
  const { cluster } = input.snapshot;
  const wanted = isAuthWanted(cluster.spec);
  const isEnabled = stateOf(input.snapshot)?.enabled ?? cluster.status?.auth?.enabled;
  if (wanted === undefined || isEnabled === wanted) return undefined;
  const verdict = authReady(input);
  if (verdict === undefined) return undefined;
  return { reason: verdict.reason, message: `spec.auth.enabled: ${wanted} is not carried out yet: ${verdict.message}` };
}
