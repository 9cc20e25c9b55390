import type { RoleReason, UserReason } from "#api/conditions.ts";
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

interface Object {
  readonly metadata: { readonly generation?: number };
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

export function conditionsWith({ metadata, status }: Object, word: Word, nowMs: number): Condition[] {
  const observedGeneration = metadata.generation ?? 0;
  return withCondition(status?.conditions ?? [], { type: "Ready", ...word, observedGeneration }, rfc3339(nowMs));
}
