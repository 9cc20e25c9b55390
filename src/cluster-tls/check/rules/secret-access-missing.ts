import type { ClusterRule } from "#cluster/step.ts";
import { revokedProblem } from "#cluster-tls/check/certificate-problem.ts";
import { notice } from "#runtime/decide.ts";

/**
 * Reports that the operator lost the right to read Secrets in the namespace, with the right and the command that grants
 * it. Members keep their certificates, other work uses what was read before, and nothing is renewed.
 */
export const secretAccessMissing: ClusterRule = {
  name: "secret-access-missing",
  decide(snapshot) {
    const problem = revokedProblem(snapshot);
    return problem?.reason === "RightMissing" ? notice(problem.message) : undefined;
  },
};
