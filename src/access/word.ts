import type { RoleReason, UserReason } from "#api/conditions.ts";
import type { EtcdRoleStatus } from "#api/v1beta1/role.ts";
import type { EtcdUserStatus } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Condition, withCondition } from "#runtime/conditions.ts";
import type { FailingReason } from "#runtime/controller.ts";
import type { Plan } from "#runtime/decide.ts";

/** The Ready condition of a role or a user. */
export interface Word {
  readonly status: Condition["status"];
  readonly reason: RoleReason | UserReason;
  readonly message: string;
}

/**
 * The condition while there is something to do, or an obstacle; `undefined` when all is done.
 * @param reasons by the rule that waits
 */
export function wordOf<Step>(plan: Plan<Step>, reasons: Readonly<Record<string, Word["reason"]>>): Word | undefined {
  const refused = plan.reports?.find(({ is }) => is === "refused");
  if (refused !== undefined) {
    const reason = refused.code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused";
    return { status: "False", reason, message: `${refused.rule}: ${refused.because}` };
  }
  if (plan.next === "settled") return undefined;
  if (plan.next === "step") return { status: "False", reason: "Applying", message: plan.because };
  const reason = reasons[plan.rule] ?? "Waiting";
  const status = reason === "EtcdUnreachable" ? "Unknown" : "False";
  return { status, reason, message: plan.because };
}

type AccessStatus = EtcdRoleStatus | EtcdUserStatus;

interface Object<Status extends AccessStatus> {
  readonly metadata: { readonly generation?: number };
  readonly status?: Status | undefined;
}

/** The condition when all is done. @param text describes what is done @param reason the reason with auth enabled */
export function doneWord(access: Observed<{ readonly enabled: boolean }>, reason: Word["reason"], text: string): Word {
  if (access.is === "present" && access.value.enabled) return { status: "True", reason, message: text };
  const message = `${text}; auth is not enabled in etcd, so any client may do everything`;
  return { status: "True", reason: "AuthDisabled", message };
}

/** The current status, with Ready=Unknown because observation of the object keeps failing. */
export function failingStatus<Status extends AccessStatus>(
  object: Object<Status>,
  because: string,
  nowMs: number,
  reason: FailingReason = "InternalError",
): Status {
  return statusWith(object, { status: "Unknown", reason, message: because }, nowMs);
}

/** The current status with this Ready condition. */
export function statusWith<Status extends AccessStatus>(object: Object<Status>, word: Word, nowMs: number): Status {
  const observedGeneration = object.metadata.generation ?? 0;
  return { ...object.status, observedGeneration, conditions: conditionsWith(object, word, nowMs) } as Status;
}

function conditionsWith({ metadata, status }: Object<AccessStatus>, word: Word, nowMs: number): Condition[] {
  const observedGeneration = metadata.generation ?? 0;
  const before = status?.conditions ?? [];
  const now = rfc3339(nowMs);
  const ready = withCondition(before, { type: "Ready", ...word, observedGeneration }, now);
  const isStalled = word.reason === "SpecRefused";
  if (!isStalled && !before.some(({ type }) => type === "Stalled")) return ready;
  return withCondition(
    ready,
    { type: "Stalled", ...word, status: isStalled ? "True" : "False", observedGeneration },
    now,
  );
}
