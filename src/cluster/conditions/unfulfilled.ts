import { isAuthWanted } from "#api/auth.ts";
import type { Reason } from "#api/conditions.ts";
import { stateOf } from "#cluster/auth/hindrance.ts";
import { isOutdated } from "#cluster/rolling.ts";
import { type ClusterSnapshot, isPaused } from "#cluster/snapshot.ts";
import { awaitedText, waitingForDeletion } from "#cluster/update-status.ts";
import { authReady } from "./auth-ready.ts";
import { pendingRelease } from "./pending-release.ts";
import { pendingTls } from "./tls-change.ts";
import type { Case } from "./verdict.ts";

interface Unfulfilled {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * What of the spec is not carried out yet, whether it is on its way or nobody can tell, although no rule has anything to say of it. What has been
 * carried out once stays so when a look is told less than the one before.
 */
export function unfulfilled(given: Pick<Case, "snapshot" | "plan">): Unfulfilled | undefined {
  const { snapshot } = given;
  return unfulfilledTls(given) ?? pendingRelease(snapshot) ?? unfulfilledTurns(snapshot) ?? unfulfilledAuth(given);
}

function unfulfilledTls({ snapshot }: Pick<Case, "snapshot">): Unfulfilled | undefined {
  const pending = pendingTls(snapshot);
  if (pending === undefined) return undefined;
  const awaited = waitingForDeletion(snapshot);
  const message = awaited.length === 0 ? pending : `${pending}; ${awaitedText(awaited)}`;
  return { reason: "CertificatesChanging", message };
}

/**
 * Nobody waits for people who restart members; but whom they restart before would come back with what it has. All others that lack it are Rolling. In a pause it is
 * told before, if an edit has brought it (held-by-pause.ts); what none has, such as another authority to trust, makes nobody less ready until the pause ends.
 */
function unfulfilledTurns(snapshot: ClusterSnapshot): Unfulfilled | undefined {
  if (isPaused(snapshot)) return undefined;
  const names = snapshot.peers.filter((peer) => isOutdated(snapshot, peer)).map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  const message = `${names.join(", ")} ${names.length === 1 ? "has" : "have"} yet to be given what the spec asks for`;
  return { reason: "Waiting", message };
}

/** While etcd cannot be asked, its last word counts. */
function unfulfilledAuth(given: Pick<Case, "snapshot" | "plan">): Unfulfilled | undefined {
  const { cluster } = given.snapshot;
  const wanted = isAuthWanted(cluster.spec);
  const isEnabled = stateOf(given.snapshot)?.enabled ?? cluster.status?.auth?.enabled;
  if (wanted === undefined || isEnabled === wanted) return undefined;
  const told = authReady(given);
  if (told === undefined) return undefined;
  return { reason: told.reason, message: `spec.auth.enabled: ${wanted} is not carried out yet: ${told.message}` };
}
