import { WAIVE_ANNOTATION } from "#api/names.ts";
import { waiversIn } from "#api/waivers.ts";
import { activeWaivers } from "#cluster/waivers.ts";
import type { Case } from "./verdict.ts";

/** What people have waived, and what they may not, as clauses to add; empty when neither is there. What is over is not told. */
export function waiversText({ snapshot }: Pick<Case, "snapshot">): string {
  const waived = activeWaivers(snapshot).map(({ check, until }) => `; waived: ${check} until ${until}`);
  const refused = waiversIn(snapshot.cluster, snapshot.takenAtMs).refused.map(
    (why) => `; ${WAIVE_ANNOTATION} is ignored: ${why}`,
  );
  return [...waived, ...refused].join("");
}
