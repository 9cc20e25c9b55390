import type { Plan } from "#runtime/decide.ts";

/** A plan in a few words: what, by whose decision, and whether a person should hear of it. */
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
