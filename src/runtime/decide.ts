/** What one pass is going to do. `rule` is the name of the rule or guard that decided; `because` is one sentence for people. */
export type Plan<Step> =
  | { readonly next: "step"; readonly rule: string; readonly because: string; readonly step: Step }
  | Wait
  | { readonly next: "settled" };

export interface Wait {
  readonly next: "wait";
  readonly rule: string;
  readonly because: string;
  /** When to look again although no event came, in milliseconds. */
  readonly recheckAfterMs: number;
  /** Whether a person should hear of it: then an event of type Warning tells it. */
  readonly warn: boolean;
}

/** One named reason to change the world, or to wait. `undefined` means no opinion. Pure, total, without clock. */
export interface Rule<Snapshot, Step> {
  readonly name: string;
  decide(snapshot: Snapshot): Plan<Step> | undefined;
}

/** One named invariant. Returns why this step would break it. Pure, total, without clock. */
export interface Guard<Snapshot, Step> {
  readonly name: string;
  forbids(snapshot: Snapshot, step: Step): string | undefined;
}

/** How long a step that a guard forbids waits before the next look, in milliseconds. Events usually come first. */
export const GUARDED_RECHECK_MS = 5_000;

/**
 * The first rule with an opinion wins; then any guard may turn its step into a wait.
 * Pure: the same snapshot gives the same plan.
 */
export function decide<Snapshot, Step>(
  rules: readonly Rule<Snapshot, Step>[],
  guards: readonly Guard<Snapshot, Step>[],
  snapshot: Snapshot,
): Plan<Step> {
  const plan = firstOpinion(rules, snapshot);
  if (plan.next !== "step") return plan;
  for (const guard of guards) {
    const why = guard.forbids(snapshot, plan.step);
    if (why !== undefined) {
      return {
        next: "wait",
        rule: guard.name,
        because: `${why} (held back: ${plan.rule})`,
        recheckAfterMs: GUARDED_RECHECK_MS,
        warn: true,
      };
    }
  }
  return plan;
}

function firstOpinion<Snapshot, Step>(rules: readonly Rule<Snapshot, Step>[], snapshot: Snapshot): Plan<Step> {
  for (const rule of rules) {
    const plan = rule.decide(snapshot);
    if (plan !== undefined) return plan;
  }
  return { next: "settled" };
}

export function step<Step>(rule: string, because: string, what: Step): Plan<Step> {
  return { next: "step", rule, because, step: what };
}

export function wait(rule: string, because: string, recheckAfterMs: number, options: { warn?: boolean } = {}): Wait {
  return { next: "wait", rule, because, recheckAfterMs, warn: options.warn ?? false };
}
