import type { RoleReason, UserReason } from "#api/conditions.ts";
import type { EtcdRoleStatus } from "#api/v1beta1/role.ts";
import type { EtcdUserStatus } from "#api/v1beta1/user.ts";
import type { Observed } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Condition, withCondition } from "#runtime/conditions.ts";
import type { Plan } from "#runtime/decide.ts";

/** What is said of a role or a user, as an answer to the question whether it is ready. */
export interface Word {
  readonly status: Condition["status"];
  readonly reason: RoleReason | UserReason;
  readonly message: string;
}

/**
 * What is said while something is to be done, or cannot be; `undefined` when all is done.
 * @param reasons by the rule that waits
 */
export function wordOf<Step>(plan: Plan<Step>, reasons: Readonly<Record<string, Word["reason"]>>): Word | undefined {
  const refused = plan.aside?.find(({ is }) => is === "refused");
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

type Told = EtcdRoleStatus | EtcdUserStatus;

interface Object<Status extends Told> {
  readonly metadata: { readonly generation?: number };
  readonly status?: Status | undefined;
}

/** What is said when all is done. @param text what that is @param reason where auth is enabled */
export function doneWord(access: Observed<{ readonly enabled: boolean }>, reason: Word["reason"], text: string): Word {
  if (access.is === "present" && access.value.enabled) return { status: "True", reason, message: text };
  const message = `${text}; auth is not enabled in etcd, so that whoever connects may do everything`;
  return { status: "True", reason: "AuthDisabled", message };
}

/** The status as it is, and that no look at the object comes to its end. */
export function failingStatus<Status extends Told>(object: Object<Status>, because: string, nowMs: number): Status {
  return statusWith(object, { status: "Unknown", reason: "InternalError", message: because }, nowMs);
}

/** The status as it is, and the word. */
export function statusWith<Status extends Told>(object: Object<Status>, word: Word, nowMs: number): Status {
  const observedGeneration = object.metadata.generation ?? 0;
  return { ...object.status, observedGeneration, conditions: conditionsWith(object, word, nowMs) } as Status;
}

function conditionsWith({ metadata, status }: Object<Told>, word: Word, nowMs: number): Condition[] {
  const observedGeneration = metadata.generation ?? 0;
  return withCondition(status?.conditions ?? [], { type: "Ready", ...word, observedGeneration }, rfc3339(nowMs));
}
