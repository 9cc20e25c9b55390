import { lackingIn, type Plan } from "#runtime/decide.ts";

/** A step that does not succeed, as the status shows it. */
export interface Refusal {
  readonly reason: "NameTaken" | "StepRefused";
  readonly message: string;
  /** For how long it has been tried, in milliseconds. NaN, when unknown, never times out. */
  readonly triedForMs: number;
}

/** The refused step of a plan, or its notice. @param rules that count; default: all */
export function refusalIn<Step>(plan: Plan<Step>, rules?: readonly string[]): Refusal | undefined {
  const reports = plan.reports?.filter(({ rule }) => rules === undefined || rules.includes(rule)) ?? [];
  const lack = lackingIn({ ...plan, reports });
  if (lack === undefined) return undefined;
  const reason = lack.code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused";
  return { reason, message: `${lack.rule}: ${lack.because}`, triedForMs: lack.triedForMs ?? Number.NaN };
}
