import { type ConditionView, conditionOf, conditionsOf, numberAt, type Values } from "./fields.ts";

/** State of a cluster, with the exit code of the commands that show it. */
export type State = "well" | "degraded" | "not serving" | "cannot tell";

export const EXIT_CODES: Readonly<Record<State, number>> = {
  well: 0,
  degraded: 1,
  "not serving": 2,
  "cannot tell": 3,
};

/** The worst first. */
const BY_SEVERITY: readonly State[] = ["not serving", "cannot tell", "degraded", "well"];

/** Conditions with the status that means trouble. Progressing and UpToDate alone are none: edits take time. */
const AMISS: Readonly<Record<string, string>> = {
  Available: "False",
  Ready: "False",
  Degraded: "True",
  Stalled: "True",
  BackupReady: "False",
  TLSReady: "False",
  AuthReady: "False",
  ClusterIDMismatch: "True",
};

/** Conditions that are amiss or unknown, the most severe first. */
export function amissIn(cluster: Values): readonly ConditionView[] {
  const order = Object.keys(AMISS);
  return conditionsOf(cluster)
    .filter(({ type, status }) => AMISS[type] !== undefined && (status === AMISS[type] || status === "Unknown"))
    .sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

export function stateOf(cluster: Values): State {
  const [available, ready] = [conditionOf(cluster, "Available"), conditionOf(cluster, "Ready")];
  if (available?.status === "False") return "not serving";
  if (available?.status !== "True" || ready === undefined || ready.status === "Unknown") return "cannot tell";
  return amissIn(cluster).length > 0 ? "degraded" : "well";
}

/** The condition that explains the state: the most severe one that is amiss, or else Ready. */
export function causeOf(cluster: Values): ConditionView | undefined {
  return amissIn(cluster)[0] ?? conditionOf(cluster, "Ready");
}

export function worstOf(states: readonly State[]): State {
  return BY_SEVERITY.find((state) => states.includes(state)) ?? "well";
}

export function bySeverity(a: State, b: State): number {
  return BY_SEVERITY.indexOf(a) - BY_SEVERITY.indexOf(b);
}

/** Whether the operator has not yet seen the last edit of the spec. */
export function isBehind(cluster: Values): boolean {
  const [now, seen] = [numberAt(cluster, "metadata", "generation"), numberAt(cluster, "status", "observedGeneration")];
  return now !== undefined && seen !== undefined && seen < now;
}
