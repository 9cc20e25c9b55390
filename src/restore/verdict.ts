import { RESTORE_REASONS, type RestoreReason } from "#api/conditions.ts";
import { failedBecause, idleSince, isReportDue, lastEnded, stateOf } from "#backup/job-state.ts";
import { endText } from "#backup/trouble.ts";
import { objectOf } from "#restore/object.ts";
import { lackOfCluster, lackOfPlace } from "#restore/place.ts";
import { FILLERS, failureOf, fillingOf, finishedBy, isFilled } from "#restore/pods.ts";
import {
  isComplete,
  isOurs,
  isStaying,
  type RestoredMember,
  type RestoreSnapshot,
  wasComplete,
} from "#restore/snapshot.ts";
import { type Lack, lackOfSnapshot, lackOfSource } from "#restore/source.ts";
import { lackOfTemplate } from "#restore/template.ts";
import { troubleOf } from "#restore/trouble.ts";

/** What is to be said of the restore by now. */
export interface Verdict extends Lack {
  readonly phase: "Pending" | "Completed" | "Failed";
}

/**
 * How long is waited for what others have to do (an EtcdBackup, a node, a volume, an image, a Secret, room in a quota), in milliseconds. Ten
 * minutes is a guess: a node that is ordered from a cloud takes a few. Too small: a restore fails that would have gone well. Too large: who
 * waits for it hears late that somebody has to do something.
 */
export const PATIENCE_MS = 10 * 60_000;

/** What becomes of claims that were told, and of which none says any more whose it is. */
const WORDLESS =
  "the claims were filled, and do not say any more whose data they hold; a cluster may have lived on them, and they are kept";

/** How the restore is doing, from what is to be seen: of what its status says already only that its claims were all filled is asked. */
export function verdictOf(snapshot: RestoreSnapshot): Verdict {
  if (isComplete(snapshot)) return ofCluster(snapshot);
  const refusal = lackOfPlace(snapshot);
  if (refusal !== undefined) return refusal.isFinal ? failed(refusal) : awaited(snapshot, refusal, startMs(snapshot));
  if (wasComplete(snapshot)) return failed({ reason: "ClaimLost", message: WORDLESS });
  const unfit = lackOfSnapshot(snapshot);
  if (unfit !== undefined) return failed(unfit);
  for (const member of snapshot.members) {
    const failure = failureIn(snapshot, member);
    if (failure !== undefined) return failed(failure);
  }
  const lack = isStarted(snapshot) ? lackAmid(snapshot) : lackBefore(snapshot);
  if (lack?.isFinal) return failed(lack);
  if (lack !== undefined)
    return lack.reason === "BackupNotCompleted" ? pending(lack) : awaited(snapshot, lack, startMs(snapshot));
  return ofMembers(snapshot);
}

/** What is said when a step of ours is refused: others may mend that, though not for ever. @param triedForMs how long it has been refused */
export function afterRefusal(snapshot: RestoreSnapshot, lack: Lack, triedForMs: number): Verdict {
  // With claims that are filled anybody can make the cluster, with another spec, too.
  return isComplete(snapshot) ? pending(lack) : awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

/** Whether a pod may have the source mounted by now. */
export function isStarted(snapshot: RestoreSnapshot): boolean {
  return snapshot.members.some((member) => fillingOf(snapshot, member) !== undefined);
}

/** What is missing before anything can be read, or would be in the way of the cluster. */
export function lackBefore(snapshot: RestoreSnapshot): Lack | undefined {
  const lack = lackOfTemplate(snapshot) ?? lackOfSource(snapshot);
  if (lack !== undefined) return lack;
  const object = objectOf(snapshot);
  return typeof object === "string" ? { reason: "SpecRefused", message: object, isFinal: true } : undefined;
}

/** What is missing for the Jobs that are not made yet: an EtcdBackup that goes, and may be made anew, is not the one that the others read. */
function lackAmid(snapshot: RestoreSnapshot): Lack | undefined {
  const object = objectOf(snapshot);
  const areMade = snapshot.members.every((member) => fillingOf(snapshot, member) !== undefined);
  return areMade || typeof object !== "string"
    ? undefined
    : { reason: "BackupNotFound", message: object, isFinal: true };
}

/** Why the claim of this member will never be filled; `undefined` while it may be. */
function failureIn(snapshot: RestoreSnapshot, member: RestoredMember): Lack | undefined {
  const filling = fillingOf(snapshot, member);
  // One that is missing is made again, until a Job has begun to fill it.
  if (!isStaying(member.claim) && (filling !== undefined || member.claim !== undefined))
    return { reason: "ClaimLost", message: `${lossOf(member)}, in the middle of the restore` };
  if (filling === undefined) return undefined;
  if (stateOf(filling.job) !== "failed" || isReportDue(snapshot, filling)) return undefined;
  const failure = failureOf(filling);
  if (failure !== undefined) return { reason: reasonOf(failure.reason), message: withSecret(snapshot, failure) };
  const last = lastEnded(filling.pods);
  const { reason, message } = failedBecause(filling.job);
  const how = last === undefined ? `${message} (${reason})` : endText(last, FILLERS);
  return { reason: "AgentFailed", message: `Job ${filling.job.metadata.name} left no report: ${how}` };
}

function lossOf({ name, claim }: RestoredMember): string {
  if (claim === undefined) return `claim ${name} is gone`;
  return `claim ${name} is ${isStaying(claim) ? "somebody else's now" : "being deleted"}`;
}

/** What a pod says may be anything; reasons that are none of a restore's are the agent's defects. */
function reasonOf(said: string): RestoreReason {
  return Object.hasOwn(RESTORE_REASONS, said) ? (said as RestoreReason) : "Internal";
}

/** Whom the agent knows as files only. */
function withSecret(snapshot: RestoreSnapshot, { reason, message }: { reason: string; message: string }): string {
  if (!["BadKey", "WrongCredentials", "AccessDenied", "StoreTLS"].includes(reason)) return message;
  const object = objectOf(snapshot);
  if (typeof object === "string") return message;
  const name = reason === "BadKey" ? object.keySecret?.name : object.target.credentials?.secretName;
  return name === undefined ? message : `${message} (Secret ${name})`;
}

function ofMembers(snapshot: RestoreSnapshot): Verdict {
  const active = snapshot.members.flatMap((member) => {
    const filling = fillingOf(snapshot, member);
    return filling === undefined || stateOf(filling.job) !== "active" ? [] : [filling];
  });
  for (const filling of active) {
    const trouble = troubleOf(snapshot, filling);
    if (trouble !== undefined) return awaited(snapshot, trouble, idleSince(filling, FILLERS) ?? Number.NaN);
  }
  const filled = snapshot.members.filter((member) => isFilled(snapshot, member)).length;
  return pending({ reason: "Restoring", message: `${filled} of ${snapshot.members.length} claims are filled` });
}

/** The claims are filled, and all else is the cluster's. */
function ofCluster(snapshot: RestoreSnapshot): Verdict {
  const { cluster, read, members } = snapshot;
  const { clusterName } = snapshot.restore.spec.clusterTemplate;
  const starting = (message: string) => pending({ reason: "StartingCluster", message });
  const lost = members.find(({ claim }) => !isStaying(claim) || !isOurs(snapshot, claim));
  if (cluster === undefined && lost !== undefined)
    return failed({ reason: "ClaimLost", message: `${lossOf(lost)}, before its cluster was there` });
  if (cluster === undefined) return starting(`all claims are filled; EtcdCluster ${clusterName} is about to be made`);
  const foreign = lackOfCluster(snapshot);
  if (foreign !== undefined) return failed(foreign);
  // A claim does not go while the pod is there that has filled it, and the cluster waits until it is gone.
  const going = members.find(({ claim }) => claim !== undefined && !isStaying(claim));
  if (cluster.status?.identity === undefined && going !== undefined)
    return failed({ reason: "ClaimLost", message: `${lossOf(going)}, before its cluster has taken it` });
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True")
    return starting(`EtcdCluster ${clusterName} is not Ready yet: ${ready?.message ?? "nothing is known of it yet"}`);
  if (read === undefined || read.is !== "present")
    return starting(
      `EtcdCluster ${clusterName} is Ready; its revision is not known: ${read?.is === "unknown" ? read.why : "nobody was asked"}`,
    );
  const expected = revisionOf(snapshot);
  if (expected !== undefined && read.value < BigInt(expected))
    return starting(`EtcdCluster ${clusterName} is at revision ${read.value}, and must be at ${expected} at least`);
  return {
    phase: "Completed",
    reason: "Completed",
    message: `EtcdCluster ${clusterName} is Ready, at revision ${read.value}`,
  };
}

/** With which the members start, in decimal; `undefined` while none has told. */
export function revisionOf(snapshot: RestoreSnapshot): string | undefined {
  const told = snapshot.members.flatMap((member) => {
    const filling = fillingOf(snapshot, member);
    return filling === undefined ? [] : (finishedBy(filling)?.revision ?? []);
  });
  const revisions = told.filter((each) => /^[0-9]{1,19}$/.test(each));
  return snapshot.restore.status?.revision ?? revisions[0];
}

function failed({ reason, message }: Lack, more = ""): Verdict {
  return { phase: "Failed", reason, message: message + more };
}

function pending({ reason, message }: Lack): Verdict {
  return { phase: "Pending", reason, message };
}

/** Since when it is waited for: the first look that was told. An operator that was away for an hour has waited for nothing. */
function startMs({ restore, takenAtMs }: RestoreSnapshot): number {
  const { startTime } = restore.status ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}

/** @param sinceMs what is no time runs out never: a clock that is wrong fails nobody */
function awaited({ takenAtMs }: RestoreSnapshot, lack: Lack, sinceMs: number): Verdict {
  return takenAtMs - sinceMs >= PATIENCE_MS
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : pending(lack);
}
