import type { Reason } from "#api/conditions.ts";
import { haveAllFailed } from "#cluster/first-backup.ts";
import { nextTemplate } from "#cluster/rolling.ts";
import { backupFirst } from "#cluster/rules/rolling/backup-first.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { whyNotYet, whyNoVersionPath } from "#cluster/version-path.ts";

// Why is it told here, and not by what is updated?
//   A member that cannot be given the release yet is given nothing: it keeps what it runs, and by that there is no update. The edit is not carried out
//   all the same, and who waits for Ready waits for the edit.
// And with OnDelete?
//   Nobody waits for people who restart members. But whom they restart now would come back with what it has.

/** Why members cannot be given `spec.version` by now, although there is a way to it; `undefined` when each of them has it, or can be given it. */
export function pendingRelease(snapshot: ClusterSnapshot): { reason: Reason; message: string } | undefined {
  const { version } = snapshot.cluster.spec;
  if (whyNoVersionPath(snapshot) !== undefined) return undefined;
  const [why] = snapshot.peers.flatMap((peer) =>
    nextTemplate(snapshot, peer).version === version ? [] : (whyNotYet(snapshot, peer.metadata.name, version) ?? []),
  );
  if (why === undefined) return undefined;
  const opinion = backupFirst.decide(snapshot);
  if (opinion === undefined || opinion.next === "settled")
    return { reason: "Waiting", message: `members do not go to ${version} yet: ${why}` };
  return { reason: haveAllFailed(snapshot) ? "BackupFailed" : "BackupPending", message: opinion.because };
}
