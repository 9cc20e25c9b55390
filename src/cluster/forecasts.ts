import type { PlanStatus } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { askedIn, planStatus, shown } from "#cluster/forecast/plan-status.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

// Why is an answer not made anew with every look?
//   It takes tens of milliseconds, in large clusters hundreds, in which the process serves nobody. Who may annotate one EtcdCluster, or a
//   hundred, takes a part of its time and not all: its lease is renewed, and the others are looked at.
// What is said meanwhile?
//   The last answer to the same question, also the one that an earlier process has written; without one, that it is being worked out.

/** An answer to the same question is good for so long, in milliseconds. */
const GOOD_MS = 30_000;
/** From the end of one forecast to the next one in this process, of whichever cluster, in milliseconds. */
const APART_MS = 1_000;
/** Who has not asked for so long, in milliseconds, is forgotten: most likely the cluster is gone. */
const FORGOTTEN_MS = 600_000;

interface Answer {
  readonly edit: string;
  readonly generation: number | undefined;
  readonly atMs: number;
  readonly plan: PlanStatus;
}

/** The plans of edits that people ask about, made at a pace that leaves time for everything else. It is a cache. */
export class Forecasts {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By the uid of the cluster. */
  readonly #answers = new Map<string, Answer>();
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** What `status.plan` says; `undefined` when nobody asks. */
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

/** The answer that stands in the status, if it is one to this question. Of a long edit only the beginning stands there. */
function written({ cluster: { metadata, status } }: ClusterSnapshot, edit: string): PlanStatus | undefined {
  const isOfThis = status?.plan?.edit === edit && status.observedGeneration === metadata.generation;
  return isOfThis ? status?.plan : undefined;
}

function pending(edit: string): PlanStatus {
  const message = "it is being worked out: of all clusters one edit a second is explained";
  return { edit: shown(edit), outcome: "Unforeseen", message };
}
