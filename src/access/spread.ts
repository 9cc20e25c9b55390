import { partOf } from "#base/hash.ts";
import type { Plan } from "#runtime/decide.ts";

/** Objects that were all looked at when the operator started are looked at again at different times: each has its own, by its uid. */
export function spreadMs<Step>(
  plan: Plan<Step>,
  { metadata }: { readonly metadata: { readonly uid: string } },
  restMs: number,
): Plan<Step> {
  if (plan.next !== "settled" || plan.recheckAfterMs !== undefined) return plan;
  return { ...plan, recheckAfterMs: Math.round(restMs * (0.9 + partOf(metadata.uid) / 10)) };
}
