import { isWaking, sleepText } from "#cluster/lifecycle/sleep.ts";
import { isForming, isPaused, isQuiet } from "#cluster/snapshot.ts";
import { unfinishedText } from "#cluster/update/update-status.ts";
import { waiversText } from "#cluster/update/waivers-text.ts";
import { changeReason, isChanging } from "./change.ts";
import { blocked, missing, notDone } from "./hindrance.ts";
import { unfulfilled } from "./unfulfilled.ts";
import type { Case, Verdict } from "./verdict.ts";

/** Condition Progressing: whether the operator changes something, or waits to. */
export function progressing(input: Case): Verdict {
  const verdict = judged(input);
  return { ...verdict, message: `${verdict.message}${waiversText(input)}` };
}

function judged(input: Case): Verdict {
  const { snapshot, plan } = input;
  if (snapshot.cluster.metadata.deletionTimestamp !== undefined)
    return { status: "True", reason: "Deleting", message: "members are being stopped; claims are kept" };
  if (isPaused(snapshot))
    return {
      status: "False",
      reason: "Paused",
      message: plan.next === "wait" ? plan.because : "the cluster is paused",
    };
  const asleep = sleepText(snapshot);
  if (asleep !== undefined && plan.next === "wait")
    return { status: "True", reason: "FallingAsleep", message: `${plan.rule}: ${plan.because}` };
  if (asleep !== undefined) return { status: "False", reason: "Asleep", message: asleep };
  const hindrance = blocked(input);
  if (hindrance !== undefined) return { status: "False", ...hindrance };
  const lack = missing(input);
  if (lack !== undefined && plan.next === "settled") return { status: "False", ...lack };
  const left = notDone(input);
  // In a settled cluster the missing parts were reported above.
  const [delayed] = left;
  const changing = isWaking(snapshot)
    ? "Waking"
    : isChanging(snapshot)
      ? changeReason(snapshot)
      : isForming(snapshot)
        ? "Forming"
        : "Waiting";
  if (plan.next === "settled" && delayed !== undefined)
    return { status: "True", reason: changing, message: `${delayed.rule}: not yet: ${delayed.because}` };
  const owed = plan.next === "settled" ? (unfulfilled(input)?.message ?? unfinishedText(snapshot)) : undefined;
  if (owed !== undefined) return { status: "True", reason: changing, message: owed };
  const reports = left.map(({ rule, because }) => `; not done: ${rule}: ${because}`).join("");
  if (plan.next === "settled") return { status: "False", reason: "Settled", message: "there is nothing to do" };
  const message = `${plan.rule}: ${plan.because}`;
  if (plan.next === "step") return { status: "True", reason: "Acting", message: `${message}${reports}` };
  if (isQuiet(snapshot)) return { status: "True", reason: "Forming", message: "members are starting" };
  return { status: "True", reason: changing, message: `${message}${reports}` };
}
