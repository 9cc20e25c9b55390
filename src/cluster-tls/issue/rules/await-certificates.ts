import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { whyUserMustAct } from "#cluster-tls/change/provider-change.ts";
import { certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { REFUSED_MS } from "#cluster-tls/read/answers.ts";
import { SHOWN_ON, SIDES } from "#cluster-tls/read/purposes.ts";
import { notice, wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: Secrets are not watched. */
const RECHECK_MS = 2_000;

/** Creates no member before its certificates exist. */
export const awaitCertificates: ClusterRule = {
  name: "await-certificates",
  decide(snapshot) {
    const tls = memberTls(snapshot);
    const side = SIDES.find((each) => providerOf(snapshot.cluster.spec, each) !== "None" && tls?.[each] === undefined);
    if (side === undefined) return userMustAct(snapshot);
    const problem = certificateProblem(snapshot, SHOWN_ON[side]);
    // Members that run without TLS stay managed until their certificates exist.
    if (snapshot.peers.length > 0)
      return notice(`TLS (${side}) waits: ${problem?.message ?? "certificates are being read"}`);
    const recheckMs = problem?.reason === "RightMissing" ? REFUSED_MS : RECHECK_MS;
    return wait(problem?.message ?? "certificates are being read", recheckMs, {
      warn: problem?.needsUser === true,
    });
  },
};

/**
 * Reports what a user has to fix before a provider change can begin. Members keep their certificates; what resolves by
 * itself is not reported.
 */
function userMustAct(snapshot: ClusterSnapshot): ReturnType<ClusterRule["decide"]> {
  const waits = SIDES.flatMap((side) => {
    const why = whyUserMustAct(snapshot, side);
    return why === undefined ? [] : [`TLS (${side}) waits: ${why}`];
  });
  return waits.length === 0 ? undefined : notice(waits.join("; "));
}
