import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { faultOf } from "#cluster-tls/check/fault.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { REFUSED_MS } from "#cluster-tls/read/answers.ts";
import { SHOWN_ON, SIDES } from "#cluster-tls/read/purposes.ts";
import { whyForPeople } from "#cluster-tls/switch/course.ts";
import { notice, wait } from "#runtime/decide.ts";

/** Recheck interval, in milliseconds: Secrets are not watched. */
const RECHECK_MS = 2_000;

/** Creates no member before its certificates exist. */
export const awaitCertificates: ClusterRule = {
  name: "await-certificates",
  decide(snapshot) {
    const tls = memberTls(snapshot);
    const side = SIDES.find((each) => providerOf(snapshot.cluster.spec, each) !== "None" && tls?.[each] === undefined);
    if (side === undefined) return whatPeopleOwe(snapshot);
    const fault = faultOf(snapshot, SHOWN_ON[side]);
    // Members that run without TLS stay managed until their certificates exist.
    if (snapshot.peers.length > 0)
      return notice("await-certificates", `TLS (${side}) waits: ${fault?.message ?? "certificates are being read"}`);
    const recheckMs = fault?.reason === "RightMissing" ? REFUSED_MS : RECHECK_MS;
    return wait("await-certificates", fault?.message ?? "certificates are being read", recheckMs, {
      warn: fault?.isForPeople === true,
    });
  },
};

/**
 * Reports what a user has to fix before a provider change can begin. Members keep their certificates; what resolves by
 * itself is not reported.
 */
function whatPeopleOwe(snapshot: ClusterSnapshot): ReturnType<ClusterRule["decide"]> {
  const waits = SIDES.flatMap((side) => {
    const why = whyForPeople(snapshot, side);
    return why === undefined ? [] : [`TLS (${side}) waits: ${why}`];
  });
  return waits.length === 0 ? undefined : notice("await-certificates", waits.join("; "));
}
