import type { Plan } from "#runtime/decide.ts";

/** A plan in a few words: its step or wait, the rule that decides it, and whether it warns. */
export function planText<Step>(plan: Plan<Step>, textOf: (step: Step) => string): string {
  switch (plan.next) {
    case "settled":
      return "settled";
    case "wait":
      return `${plan.warn ? "warn" : "wait"}: ${plan.rule}`;
    case "step":
      return `${plan.rule}: ${textOf(plan.step)}`;
  }
}
