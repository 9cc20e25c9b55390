import { providerOf } from "#api/tls.ts";
import { REFUSED_MS } from "#cluster/certificates/answers.ts";
import { whyForPeople } from "#cluster/certificates/course.ts";
import { faultOf } from "#cluster/certificates/fault.ts";
import { SHOWN_ON, SIDES } from "#cluster/certificates/purposes.ts";
import { memberTls } from "#cluster/certificates.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, wait } from "#runtime/decide.ts";

/** Nothing tells when a Secret changes, in milliseconds. */
const RECHECK_MS = 2_000;

/** Members are made with what they show, and with whom they trust, or not at all. */
export const awaitCertificates: ClusterRule = {
  name: "await-certificates",
  decide(snapshot) {
    const tls = memberTls(snapshot);
    const side = SIDES.find((each) => providerOf(snapshot.cluster.spec, each) !== "None" && tls?.[each] === undefined);
    if (side === undefined) return whatPeopleOwe(snapshot);
    const fault = faultOf(snapshot, SHOWN_ON[side]);
    // Who runs without goes on without, and is looked after, until they are there.
    if (snapshot.peers.length > 0)
      return remark("await-certificates", `TLS (${side}) waits: ${fault?.message ?? "certificates are being read"}`);
    const recheckMs = fault?.reason === "RightMissing" ? REFUSED_MS : RECHECK_MS;
    return wait("await-certificates", fault?.message ?? "certificates are being read", recheckMs, {
      warn: fault?.isForPeople === true,
    });
  },
};

/** Who shows something else goes on with that until what is asked for is good: what comes to be good by itself nobody has to hear of. */
function whatPeopleOwe(snapshot: ClusterSnapshot): ReturnType<ClusterRule["decide"]> {
  const waits = SIDES.flatMap((side) => {
    const why = whyForPeople(snapshot, side);
    return why === undefined ? [] : [`TLS (${side}) waits: ${why}`];
  });
  return waits.length === 0 ? undefined : remark("await-certificates", waits.join("; "));
}
