import { refusalIn } from "#agent-job/refusal.ts";
import type { RestoreConditionType, RestoreReason } from "#api/conditions.ts";
import { restoreJobName } from "#api/names.ts";
import type { EtcdRestore, EtcdRestoreStatus, RestoredSnapshot } from "#api/v1beta1/restore.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { restoredIdentity } from "#restore/identity.ts";
import { objectOf, sourceText } from "#restore/object.ts";
import { broughtBy, fillingOf } from "#restore/pods.ts";
import { hasBegun, hasEnded, isComplete, isDeleting, type RestoreSnapshot, wasComplete } from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";
import { afterRefusal, revisionOf, type Verdict, verdictOf } from "#restore/verdict.ts";
import { type Failing, unknownStatus, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** Status of the EtcdRestore, for users and other software. Completed and Failed are final. Pure. */
export function restoreStatus(snapshot: RestoreSnapshot, plan: Plan<RestoreStep>): EtcdRestoreStatus {
  const { restore } = snapshot;
  const before = restore.status ?? {};
  const begun = isComplete(snapshot) || hasBegun(snapshot) ? { begun: true } : {};
  if (hasEnded(snapshot)) return wasComplete(snapshot) ? before : { ...before, ...begun };
  const verdict = shownVerdict(snapshot, plan);
  const now = rfc3339(snapshot.takenAtMs);
  const { clusterName } = restore.spec.clusterTemplate;
  return {
    ...before,
    observedGeneration: generationOf(snapshot),
    phase: verdict.phase,
    source: sourceText(snapshot),
    clusterName,
    clusterID: restoredIdentity(restore).clusterID,
    ...placeOf(snapshot),
    ...begun,
    ...whatOf(snapshot),
    ...startOf(before, verdict, now),
    ...(verdict.phase === "Pending" ? {} : { completionTime: now }),
    conditions: conditionsOf(snapshot, verdict),
  };
}

/** The status while all passes of the restore fail. When it has ended, its status does not change. */
export const failingStatus: Failing<EtcdRestore, EtcdRestoreStatus> = (restore, ...failure) =>
  hasEnded({ restore }) ? (restore.status ?? {}) : unknownStatus(restore, ["Complete", "Ready"], ...failure);

/** Time of the first observation that could start. The wait for a running EtcdBackup does not count. */
function startOf({ startTime }: EtcdRestoreStatus, { reason }: Verdict, now: string): EtcdRestoreStatus {
  if (startTime !== undefined) return { startTime };
  return reason === "BackupNotCompleted" ? {} : { startTime: now };
}

function placeOf(snapshot: RestoreSnapshot): EtcdRestoreStatus {
  const object = objectOf(snapshot);
  const { restore, members } = snapshot;
  const made = members.filter((member) => fillingOf(snapshot, member) !== undefined);
  return {
    ...(typeof object === "string" ? {} : { objectURL: object.target.url }),
    ...(made.length === 0
      ? {}
      : { jobNames: made.map(({ ordinal }) => restoreJobName(restore.metadata.uid, ordinal)) }),
  };
}

/** What the agents have reported, as long as their pods exist. */
function whatOf(snapshot: RestoreSnapshot): EtcdRestoreStatus {
  const [brought] = snapshot.members.flatMap((member) => {
    const filling = fillingOf(snapshot, member);
    return filling === undefined ? [] : (broughtBy(filling) ?? []);
  });
  const revision = revisionOf(snapshot);
  return {
    ...(brought === undefined ? {} : { snapshot: readOf(brought) }),
    ...(revision === undefined ? {} : { revision }),
  };
}

function readOf(brought: NonNullable<ReturnType<typeof broughtBy>>): RestoredSnapshot {
  const { key, bytes, sha256, revision, etcdVersion, clusterID, hasManifest } = brought;
  return {
    ...{ key, bytes, sha256, revision, hasManifest },
    ...(etcdVersion === undefined ? {} : { etcdVersion }),
    ...(clusterID === undefined ? {} : { clusterID }),
  };
}

/** Reasons of waits that do not time out, by rule. Other waits get the reason of the verdict. */
const REASON_OF_RULE: Readonly<Record<string, RestoreReason>> = { "await-image": "Waiting" };

interface Word {
  readonly reason: RestoreReason;
  readonly message: string;
}

/**
 * The verdict, or what keeps the plan from being executed. A refused step is waited for, up to PATIENCE_MS, since users
 * can fix the cause.
 */
function shownVerdict(snapshot: RestoreSnapshot, plan: Plan<RestoreStep>): Verdict {
  const refusal = refusalIn(plan);
  if (isDeleting(snapshot))
    return { phase: "Pending", reason: "Deleting", message: refusal?.message ?? deletionText(plan) };
  const verdict = verdictOf(snapshot);
  if (verdict.phase !== "Pending") return verdict;
  if (refusal !== undefined) return afterRefusal(snapshot, refusal, refusal.triedForMs);
  const reason = plan.next === "wait" ? REASON_OF_RULE[plan.rule] : undefined;
  return plan.next === "wait" && reason !== undefined ? { ...verdict, reason, message: plan.because } : verdict;
}

function deletionText(plan: Plan<RestoreStep>): string {
  return plan.next === "settled" ? "the EtcdRestore is about to be deleted" : plan.because;
}

function conditionsOf(snapshot: RestoreSnapshot, verdict: Verdict) {
  const { phase } = verdict;
  const before = snapshot.restore.status?.conditions ?? [];
  const isComplete = phase === "Completed";
  const hasFailed = phase === "Failed";
  const is = { Complete: isComplete, Failed: hasFailed, Ready: isComplete, ...(hasFailed ? { Stalled: true } : {}) };
  return Object.entries(is satisfies Partial<Record<RestoreConditionType, boolean>>).reduce(
    (all, [type, isTrue]) => condition(snapshot, all, type, isTrue, verdict),
    before,
  );
}

type Conditions = NonNullable<EtcdRestoreStatus["conditions"]>;

function condition(
  snapshot: RestoreSnapshot,
  others: Conditions,
  type: string,
  isTrue: boolean,
  { reason, message }: Word,
): Conditions {
  const status = isTrue ? "True" : "False";
  const next = { type, status, reason, message, observedGeneration: generationOf(snapshot) } as const;
  return withCondition(others, next, rfc3339(snapshot.takenAtMs));
}

function generationOf({ restore }: RestoreSnapshot): number {
  return restore.metadata.generation ?? 0;
}
