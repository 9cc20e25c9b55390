import type { ClusterRule } from "#cluster/step.ts";
import { revokedFault } from "#cluster-tls/check/fault.ts";
import { notice } from "#runtime/decide.ts";

/**
 * Reports that the operator lost the right to read Secrets in the namespace, with the right and the command that grants
 * it. Members keep their certificates, other work uses what was read before, and nothing is renewed.
 */
export const secretAccessMissing: ClusterRule = {
  name: "secret-access-missing",
  decide(snapshot) {
    const fault = revokedFault(snapshot);
    return fault?.reason === "RightMissing" ? notice("secret-access-missing", fault.message) : undefined;
  },
};
