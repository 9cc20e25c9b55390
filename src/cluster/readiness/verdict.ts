import type { Reason } from "#api/conditions.ts";
import type { MemberStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Plan } from "#runtime/decide.ts";

/** The content of a condition. */
export interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/** The input of all conditions. */
export interface Case {
  readonly snapshot: ClusterSnapshot;
  readonly plan: Plan<ClusterStep>;
  /** The members, as in the same status. */
  readonly members: readonly MemberStatus[];
  /** The members without those that the operator did not add, which it does not dial. */
  readonly own: readonly MemberStatus[];
}

/** Computes a condition; `undefined` while there is nothing to report. Pure. */
export type Judge = (input: Case) => Verdict | undefined;

export function sickText(sick: readonly MemberStatus[]): string {
  return sick.map((member) => `${member.name}: ${member.message ?? "not healthy"}`).join("; ");
}
