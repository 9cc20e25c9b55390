import type { Reason } from "#api/conditions.ts";
import type { MemberStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import type { Plan } from "#runtime/decide.ts";

/** What one condition says. */
export interface Verdict {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/** What conditions are judged by. */
export interface Case {
  readonly snapshot: ClusterSnapshot;
  readonly plan: Plan<ClusterStep>;
  /** The members, as the same status tells them. */
  readonly members: readonly MemberStatus[];
  /** The members without those that a person added, which may run where the operator cannot ask them. */
  readonly own: readonly MemberStatus[];
}

/** One condition; `undefined` while there is nothing to tell. Pure. */
export type Judge = (given: Case) => Verdict | undefined;

export function sickText(sick: readonly MemberStatus[]): string {
  return sick.map((member) => `${member.name}: ${member.message ?? "not healthy"}`).join("; ");
}
