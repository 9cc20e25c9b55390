import { type ConditionView, conditionOf, conditionsOf, numberAt, type Values } from "./fields.ts";

/** State of a cluster, with the exit code of the commands that show it. */
export type State = "well" | "asleep" | "degraded" | "not serving" | "cannot tell";

export const EXIT_CODES: Readonly<Record<State, number>> = {
  well: 0,
  asleep: 0,
  degraded: 1,
  "not serving": 2,
  "cannot tell": 3,
};

/** The worst first. */
const BY_SEVERITY: readonly State[] = ["not serving", "cannot tell", "degraded", "asleep", "well"];

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

/** Reason of conditions of a cluster that sleeps as its spec demands. */
const ASLEEP = "Asleep";

/** State by the conditions. They prove trouble at any time, and health only of the spec that the operator has read. */
export function stateOf(cluster: Values): State {
  const [available, ready] = [conditionOf(cluster, "Available"), conditionOf(cluster, "Ready")];
  const isSleep = available?.status === "False" && available.reason === ASLEEP;
  if (available?.status === "False" && !isSleep) return "not serving";
  if (available === undefined || available.status === "Unknown") return "cannot tell";
  if (ready === undefined || ready.status === "Unknown") return "cannot tell";
  const amiss = amissIn(cluster).filter(({ reason }) => !isSleep || reason !== ASLEEP);
  if (amiss.length > 0) return "degraded";
  if (isBehind(cluster)) return "cannot tell";
  return isSleep ? "asleep" : "well";
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
