import type { Reason } from "#api/conditions.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { backupFirst } from "#cluster/update/rules/backup-first.ts";
import { haveAllFailed } from "./first-backup.ts";
import { nextTemplate } from "./next-template.ts";
import { whyNotYet, whyNoVersionPath } from "./version-path.ts";

// Why is this reported apart from the update? A member that cannot get the release yet gets no new template, so there
// is no update in progress. The edit is nevertheless not carried out, and a client that waits for Ready waits for the
// edit. The same holds with OnDelete: a pod that is deleted now would return with its old release.

/**
 * Why members cannot get `spec.version` yet, although a path to it exists; `undefined` when each of them has it or can
 * get it.
 */
export function pendingRelease(snapshot: ClusterSnapshot): { reason: Reason; message: string } | undefined {
  const { version } = snapshot.cluster.spec;
  if (whyNoVersionPath(snapshot) !== undefined) return undefined;
  const [why] = snapshot.peers.flatMap((peer) =>
    nextTemplate(snapshot, peer).version === version ? [] : (whyNotYet(snapshot, peer.metadata.name, version) ?? []),
  );
  if (why === undefined) return undefined;
  const opinion = backupFirst.decide(snapshot);
  if (opinion === undefined || opinion.next === "settled")
    return { reason: "Waiting", message: `the update to ${version} waits: ${why}` };
  return { reason: haveAllFailed(snapshot) ? "BackupFailed" : "BackupPending", message: opinion.because };
}
