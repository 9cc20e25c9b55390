import { failedBecause, idleSince, isReportDue, lastEnded, stateOf } from "#agent-job/job-state.ts";
import { endText, podTroubleOf } from "#agent-job/pod-trouble.ts";
import { RESTORE_REASONS, type RestoreReason } from "#api/conditions.ts";
import { objectOf, secretNamesOf } from "#restore/object.ts";
import { lackOfCluster, lackOfPlace } from "#restore/place.ts";
import { FILLERS, failureOf, fillingOf, fillingsOf, finishedBy, isFilled } from "#restore/pods.ts";
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

/** Phase, reason and message of the restore. */
export interface Verdict extends Lack {
  readonly phase: "Pending" | "Completed" | "Failed";
}

/**
 * How long the restore waits for what it does not control (an EtcdBackup, node, volume, image, Secret, quota), in
 * milliseconds. Ten minutes is a guess: a cloud provides a node in a few. If smaller, restores fail that would succeed;
 * if larger, a user learns late of a problem.
 */
export const PATIENCE_MS = 10 * 60_000;

/** Message when all claims were filled once, and none has identity annotations any more. */
const WORDLESS =
  "the claims were filled and have lost their identity annotations; a cluster may have used them, so they are kept";

/**
 * Verdict about the restore from its objects. The only part of the old status that counts is whether all claims were
 * filled.
 */
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

/**
 * Verdict when a step is refused: pending up to PATIENCE_MS, since users can fix the cause. @param triedForMs how long
 * the step has been refused
 */
export function afterRefusal(snapshot: RestoreSnapshot, lack: Lack, triedForMs: number): Verdict {
  // Once the claims are filled, users can create the cluster themselves, even with another spec.
  return isComplete(snapshot) ? pending(lack) : awaited(snapshot, lack, snapshot.takenAtMs - triedForMs);
}

/** Whether a pod may have mounted the source already. */
export function isStarted(snapshot: RestoreSnapshot): boolean {
  return fillingsOf(snapshot).length > 0;
}

/** Problem that prevents reading the source or creating the cluster. */
export function lackBefore(snapshot: RestoreSnapshot): Lack | undefined {
  const lack = lackOfTemplate(snapshot) ?? lackOfSource(snapshot);
  if (lack !== undefined) return lack;
  const object = objectOf(snapshot);
  return typeof object === "string" ? { reason: "SpecRefused", message: object, isFinal: true } : undefined;
}

/**
 * Problem for Jobs that are not created yet: the EtcdBackup was deleted. Even if it was created again, it is not the
 * one that the other Jobs read.
 */
function lackAmid(snapshot: RestoreSnapshot): Lack | undefined {
  const object = objectOf(snapshot);
  const areMade = snapshot.members.every((member) => fillingOf(snapshot, member) !== undefined);
  return areMade || typeof object !== "string"
    ? undefined
    : { reason: "BackupNotFound", message: object, isFinal: true };
}

/** Why this member's claim will never be filled; `undefined` while it may be. */
function failureIn(snapshot: RestoreSnapshot, member: RestoredMember): Lack | undefined {
  const filling = fillingOf(snapshot, member);
  // A missing claim is created again until a Job has begun to fill it.
  if (!isStaying(member.claim) && (filling !== undefined || member.claim !== undefined))
    return { reason: "ClaimLost", message: `${lossOf(member)}, before the restore was complete` };
  if (filling === undefined) return undefined;
  if (stateOf(filling) !== "failed" || isReportDue(snapshot, filling)) return undefined;
  const failure = failureOf(filling);
  if (failure !== undefined) return { reason: reasonOf(failure.reason), message: withSecret(snapshot, failure) };
  const last = lastEnded(filling.pods);
  const { reason, message } = failedBecause(filling.job);
  const how = last === undefined ? `${message} (${reason})` : endText(last, FILLERS);
  return { reason: "AgentFailed", message: `Job ${filling.job.metadata.name} left no report: ${how}` };
}

function lossOf({ name, claim }: RestoredMember): string {
  if (claim === undefined) return `claim ${name} is gone`;
  return `claim ${name} is ${isStaying(claim) ? "no longer this restore's" : "being deleted"}`;
}

/** Pods can report any text: a reason that restores do not have is a defect of the agent. */
function reasonOf(said: string): RestoreReason {
  return Object.hasOwn(RESTORE_REASONS, said) ? (said as RestoreReason) : "Internal";
}

/** Adds the Secret's name to the message: the agent knows Secrets only as files. */
function withSecret(snapshot: RestoreSnapshot, { reason, message }: { reason: string; message: string }): string {
  if (!["BadKey", "WrongCredentials", "AccessDenied", "StoreTLS"].includes(reason)) return message;
  const object = objectOf(snapshot);
  if (typeof object === "string") return message;
  const name = reason === "BadKey" ? object.keySecretRef?.name : object.target.credentials?.secretName;
  return name === undefined ? message : `${message} (Secret ${name})`;
}

function ofMembers(snapshot: RestoreSnapshot): Verdict {
  const active = fillingsOf(snapshot).filter((filling) => stateOf(filling) === "active");
  for (const filling of active) {
    const trouble = podTroubleOf(filling, {
      workers: FILLERS,
      warnings: snapshot.warnings,
      secretNames: secretNamesOf(snapshot),
      failure: failureOf(filling),
      working: "Restoring",
    });
    if (trouble !== undefined) return awaited(snapshot, trouble, idleSince(filling, FILLERS) ?? Number.NaN);
  }
  const filled = snapshot.members.filter((member) => isFilled(snapshot, member)).length;
  return pending({ reason: "Restoring", message: `${filled} of ${snapshot.members.length} claims are filled` });
}

/** Verdict once the claims are filled: it depends on the cluster. */
function ofCluster(snapshot: RestoreSnapshot): Verdict {
  const { cluster, read, members } = snapshot;
  const { clusterName } = snapshot.restore.spec.clusterTemplate;
  const starting = (message: string) => pending({ reason: "StartingCluster", message });
  const lost = members.find(({ claim }) => !isStaying(claim) || !isOurs(snapshot, claim));
  if (cluster === undefined && lost !== undefined)
    return failed({ reason: "ClaimLost", message: `${lossOf(lost)}, before its cluster existed` });
  if (cluster === undefined) return starting(`all claims are filled; EtcdCluster ${clusterName} is created next`);
  const foreign = lackOfCluster(snapshot);
  if (foreign !== undefined) return failed(foreign);
  // A claim stays until the pod that filled it is gone, and the cluster waits for that pod.
  const going = members.find(({ claim }) => claim !== undefined && !isStaying(claim));
  if (cluster.status?.identity === undefined && going !== undefined)
    return failed({ reason: "ClaimLost", message: `${lossOf(going)}, before its cluster has taken it` });
  const ready = cluster.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True")
    return starting(
      `EtcdCluster ${clusterName} is not Ready yet: ${ready?.message ?? "its status has no condition Ready"}`,
    );
  if (read === undefined || read.is !== "present")
    return starting(
      `EtcdCluster ${clusterName} is Ready; its revision is not known: ${read?.is === "unknown" ? read.why : "no member was asked"}`,
    );
  const expected = revisionOf(snapshot);
  if (expected !== undefined && read.value < BigInt(expected))
    return starting(`EtcdCluster ${clusterName} is at revision ${read.value}, and must reach at least ${expected}`);
  return {
    phase: "Completed",
    reason: "Completed",
    message: `EtcdCluster ${clusterName} is Ready, at revision ${read.value}`,
  };
}

/** Revision with which the members start, in decimal; `undefined` while no agent has reported it. */
export function revisionOf(snapshot: RestoreSnapshot): string | undefined {
  const reported = snapshot.members.flatMap((member) => {
    const filling = fillingOf(snapshot, member);
    return filling === undefined ? [] : (finishedBy(filling)?.revision ?? []);
  });
  const revisions = reported.filter((each) => /^[0-9]{1,19}$/.test(each));
  return snapshot.restore.status?.revision ?? revisions[0];
}

function failed({ reason, message }: Lack, more = ""): Verdict {
  return { phase: "Failed", reason, message: message + more };
}

function pending({ reason, message }: Lack): Verdict {
  return { phase: "Pending", reason, message };
}

/**
 * Begin of the wait: the first observation recorded in the status. Downtime of the operator before it does not count.
 */
function startMs({ restore, takenAtMs }: RestoreSnapshot): number {
  const { startTime } = restore.status ?? {};
  return startTime === undefined ? takenAtMs : Date.parse(startTime);
}

/** @param sinceMs NaN never times out: a wrong clock fails no restore */
function awaited({ takenAtMs }: RestoreSnapshot, lack: Lack, sinceMs: number): Verdict {
  return takenAtMs - sinceMs >= PATIENCE_MS
    ? failed(lack, `; it was waited for ${PATIENCE_MS / 60_000} minutes`)
    : pending(lack);
}
