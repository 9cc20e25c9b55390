import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import { notDone } from "#cluster/conditions/hindrance.ts";
import { after } from "#cluster/forecast/model.ts";
import { arrived } from "#cluster/forecast/model-kubernetes.ts";
import { planCluster } from "#cluster/plan.ts";
import { forgetPrevious } from "#cluster/rules/rolling/forget-previous.ts";
import { type ClusterSnapshot, isForming } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Plan } from "#runtime/decide.ts";

/** The longest way there is, from one member to seven with another release, takes about a hundred steps. */
const MOST_STEPS = 200;

/** What the operator is going to do from here on, while all goes well. */
export type Forecast = Omit<PlanStatus, "edit">;
type Step = NonNullable<PlanStatus["steps"]>[number];

/** Runs the plan forward against the model, step by step; what changes nothing that people see is not told. Pure, and never throws. @param most steps that are foretold */
export function forecast(snapshot: ClusterSnapshot, most = MOST_STEPS): Forecast {
  if (isForming(snapshot))
    return { outcome: "Waits", message: "nothing can be foretold before the cluster has formed" };
  const first = planCluster(snapshot);
  const steps: Step[] = [];
  let now = looked(snapshot);
  while (steps.length < most) {
    const plan = planCluster(now);
    if (plan.next !== "step") return told(first, steps, plan);
    const { rule, because } = plan;
    const member = memberOf(plan.step);
    if (rule !== forgetPrevious.name)
      steps.push({ rule, step: plan.step.do, ...(member === undefined ? {} : { member }), message: because });
    const next = after(now, plan.step);
    if (typeof next === "string")
      return told(first, steps, `what becomes of ${plan.step.do} cannot be foretold: ${next}`);
    now = looked(next);
  }
  return told(first, steps, `no end in sight after ${most} steps`);
}

/** The world at the next look, with the status that the operator has written meanwhile. */
function looked(snapshot: ClusterSnapshot): ClusterSnapshot {
  const now = arrived(snapshot);
  const status = clusterStatus(now, { next: "settled" });
  return { ...now, cluster: { ...now.cluster, status } };
}

/** @param end the last plan, or why there is none */
function told(first: Plan<ClusterStep>, steps: readonly Step[], end: Plan<ClusterStep> | string): Forecast {
  const refused = notDone({ plan: first }).map(({ rule, because }) => ({ rule, message: because }));
  const restarts = steps.flatMap(({ step, member }) => (step === "restartPod" && member !== undefined ? [member] : []));
  return {
    ...ending(end, steps.length === 0 && refused.length > 0),
    ...(refused.length === 0 ? {} : { refused }),
    ...(restarts.length === 0 ? {} : { restarts }),
    ...(steps.length === 0 ? {} : { steps: [...steps] }),
  };
}

function ending(end: Plan<ClusterStep> | string, isRefused: boolean): Pick<Forecast, "outcome" | "message"> {
  if (typeof end === "string") return { outcome: "Unforeseen", message: end };
  if (end.next === "wait") return { outcome: "Waits", message: `${end.rule}: ${end.because}` };
  if (isRefused) return { outcome: "Refused", message: "nothing of it would be carried out" };
  return { outcome: "Done", message: "there is nothing more to do then" };
}

function memberOf(step: ClusterStep): string | undefined {
  if (step.do === "moveLeader") return step.from;
  if ("peer" in step) return step.peer.metadata.name;
  return "name" in step ? step.name : undefined;
}
