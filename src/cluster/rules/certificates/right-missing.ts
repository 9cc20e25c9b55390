import { revokedFault } from "#cluster/certificates/fault.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark } from "#runtime/decide.ts";

/**
 * The right to read the cluster's Secrets was taken away in its namespace. People are told which right, and the command that grants it; members
 * go on with what they have, all else goes on with what was read before, and nothing is renewed.
 */
export const rightMissing: ClusterRule = {
  name: "right-missing",
  decide(snapshot) {
    const fault = revokedFault(snapshot);
    return fault?.reason === "RightMissing" ? remark("right-missing", fault.message) : undefined;
  },
};
