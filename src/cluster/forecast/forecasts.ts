import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { askedIn, planStatus, shown } from "./plan-status.ts";

// Why is a forecast not computed with every observation?
//   It takes tens of milliseconds, in large clusters hundreds, and blocks the process. The pace limits what annotations
//   can cost: leases are still renewed, and other clusters reconciled.
// What does the status have until then?
//   The last answer to the same edit, even one of an earlier process; without one, that it is being computed.

/** Lifetime of an answer, in milliseconds. Shorter: more CPU. Longer: the forecast lags behind the cluster. */
const GOOD_MS = 30_000;
/**
 * Minimum pause between two forecasts in this process, for all clusters, in milliseconds. Shorter: annotations could
 * keep the process busy.
 */
const APART_MS = 1_000;
/** After this time without a request an answer is dropped, in milliseconds: the cluster is probably gone. */
const FORGOTTEN_MS = 600_000;

interface Answer {
  readonly edit: string;
  readonly generation: number | undefined;
  readonly atMs: number;
  readonly plan: PlanStatus;
}

/** Forecasts of the edits that people ask about, at a limited pace. A cache. */
export class Forecasts {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Answers by uid of the cluster. */
  readonly #answers = new Map<string, Answer>();
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** The content of `status.dryRun`; `undefined` without the annotation. */
  of(snapshot: ClusterSnapshot): PlanStatus | undefined {
    const { uid, generation } = snapshot.cluster.metadata;
    const edit = askedIn(snapshot);
    const last = this.#answers.get(uid);
    if (edit === undefined) {
      this.#answers.delete(uid);
      return undefined;
    }
    const known = last?.edit === edit && last.generation === generation ? last : undefined;
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < GOOD_MS) return known.plan;
    if (nowMs - this.#lastMs < APART_MS) return known?.plan ?? written(snapshot, edit) ?? pending(edit);
    const plan = planStatus(snapshot);
    const atMs = this.#clock.monotonicMs();
    this.#lastMs = atMs;
    this.#forgetBefore(atMs - FORGOTTEN_MS);
    if (plan !== undefined) this.#answers.set(uid, { edit, generation, atMs, plan });
    return plan;
  }

  #forgetBefore(ms: number): void {
    for (const [uid, { atMs }] of this.#answers) if (atMs < ms) this.#answers.delete(uid);
  }
}

/** The answer in the status, if it is one to this edit. The status has only the beginning of a long edit. */
function written({ cluster: { metadata, status } }: ClusterSnapshot, edit: string): PlanStatus | undefined {
  const isOfThis = status?.dryRun?.edit === edit && status.observedGeneration === metadata.generation;
  return isOfThis ? status?.dryRun : undefined;
}

function pending(edit: string): PlanStatus {
  const message = "the forecast is being computed: the operator computes one a second, over all clusters";
  return { edit: shown(edit), outcome: "Unforeseen", message };
}
