import { WAIVE_ANNOTATION } from "#api/names.ts";
import { waiversIn } from "#api/waivers.ts";
import type { Case } from "#cluster/readiness/verdict.ts";
import { activeWaivers } from "./waivers.ts";

/** Active waivers and invalid ones, as clauses to append; "" when there are none. Expired waivers are left out. */
export function waiversText({ snapshot }: Pick<Case, "snapshot">): string {
  const waived = activeWaivers(snapshot).map(({ check, until }) => `; waived: ${check} until ${until}`);
  const refused = waiversIn(snapshot.cluster, snapshot.takenAtMs).refused.map(
    (why) => `; ${WAIVE_ANNOTATION} is ignored: ${why}`,
  );
  return [...waived, ...refused].join("");
}
