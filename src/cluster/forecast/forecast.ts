import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { planCluster } from "#cluster/plan.ts";
import { notDone } from "#cluster/readiness/hindrance.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { dropPreviousTemplate } from "#cluster/update/rules/drop-previous-template.ts";
import type { Plan } from "#runtime/decide.ts";
import { eventName } from "#runtime/event-name.ts";
import { after } from "./model.ts";
import { arrived } from "./model-kubernetes.ts";

/**
 * Most steps of a forecast. The longest path, from one member to seven with another release, takes about a hundred.
 * Fewer would cut it off; more would only prolong a loop.
 */
const MOST_STEPS = 200;

/** What the operator will do from now on, if nothing fails. */
export type Forecast = Omit<PlanStatus, "edit">;
type Step = NonNullable<PlanStatus["steps"]>[number];

/**
 * Runs the plan forward against the model, step by step. Repetitions without visible change are omitted. Pure, and
 * never throws. @param most steps in the forecast
 */
export function forecast(snapshot: ClusterSnapshot, most = MOST_STEPS): Forecast {
  if (isForming(snapshot)) return { outcome: "Waits", message: "no forecast before the cluster has formed" };
  const first = planCluster(snapshot);
  const steps: Step[] = [];
  let now = nextObservation(snapshot);
  while (steps.length < most) {
    const plan = planCluster(now);
    if (plan.next !== "step") return forecastOf(first, steps, plan);
    const { rule, because } = plan;
    const member = memberOf(plan.step);
    if (rule !== dropPreviousTemplate.name)
      steps.push({ rule, step: plan.step.do, ...(member === undefined ? {} : { member }), message: because });
    const next = after(now, plan.step);
    if (typeof next === "string")
      return forecastOf(first, steps, `no forecast of the effect of ${plan.step.do}: ${next}`);
    now = nextObservation(next);
  }
  return forecastOf(first, steps, `no end after ${most} steps`);
}

/** The snapshot at the next observation, with the status that the operator has written by then. */
function nextObservation(snapshot: ClusterSnapshot): ClusterSnapshot {
  const now = arrived(snapshot);
  const status = clusterStatus(now, { next: "settled" });
  return { ...now, cluster: { ...now.cluster, status } };
}

/** @param end the last plan, or why there is none */
function forecastOf(first: Plan<ClusterStep>, steps: readonly Step[], end: Plan<ClusterStep> | string): Forecast {
  const refused = notDone({ plan: first }).map(({ rule, because }) => ({ rule: eventName(rule), message: because }));
  const restarts = steps.flatMap(({ step, member }) => (step === "restartPod" && member !== undefined ? [member] : []));
  return {
    ...ending(end, steps.length === 0 && refused.length > 0),
    ...(refused.length === 0 ? {} : { refused }),
    ...(restarts.length === 0 ? {} : { restarts }),
    ...(steps.length === 0
      ? {}
      : { steps: steps.map((each) => ({ ...each, rule: eventName(each.rule), step: eventName(each.step) })) }),
  };
}

function ending(end: Plan<ClusterStep> | string, isRefused: boolean): Pick<Forecast, "outcome" | "message"> {
  if (typeof end === "string") return { outcome: "Unforeseen", message: end };
  if (end.next === "wait") return { outcome: "Waits", message: `${eventName(end.rule)}: ${end.because}` };
  if (isRefused)
    return { outcome: "Refused", message: "the change would be refused, and none of these steps would be done" };
  return { outcome: "Done", message: "there is nothing more to do then" };
}

function memberOf(step: ClusterStep): string | undefined {
  if (step.do === "moveLeader") return step.from;
  if ("peer" in step) return step.peer.metadata.name;
  return "name" in step ? step.name : undefined;
}
