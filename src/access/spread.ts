import { partOf } from "#base/hash.ts";
import type { Plan } from "#runtime/decide.ts";

/**
 * Spreads periodic rechecks by uid, so that objects observed together at the operator's start are observed at different
 * times later.
 */
export function spreadMs<Step>(
  plan: Plan<Step>,
  { metadata }: { readonly metadata: { readonly uid: string } },
  restMs: number,
): Plan<Step> {
  if (plan.next !== "settled" || plan.recheckAfterMs !== undefined) return plan;
  return { ...plan, recheckAfterMs: Math.round(restMs * (0.9 + partOf(metadata.uid) / 10)) };
}
