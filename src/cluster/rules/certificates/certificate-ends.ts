import { lifeOf } from "#api/tls.ts";
import { isLate } from "#certificates/late.ts";
import { formerTls } from "#cluster/certificates/former.ts";
import { isLookedAfter } from "#cluster/certificates/former-fault.ts";
import { purposesOf, sideOf } from "#cluster/certificates/purposes.ts";
import { renewalTroubles } from "#cluster/certificates/renewal.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { endText, WHAT_FOR } from "#cluster/certificates/words.ts";
import { type ClusterSnapshot, isPaused, type Purpose } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark } from "#runtime/decide.ts";

/**
 * A certificate comes to its end, and should have been renewed long ago, or cert-manager does not renew it. People are told, of what is in use also
 * while something else is asked for; all else goes on.
 */
export const certificateEnds: ClusterRule = {
  name: "certificate-ends",
  decide(snapshot) {
    const former = formerTls(snapshot);
    const left = former && purposesOf(former.cluster).filter((purpose) => isLookedAfter(snapshot, purpose));
    const ending = [...endingOf(former, left ?? []), ...endingOf(snapshot, purposesOf(snapshot.cluster))];
    const paused = isPaused(snapshot) ? ", while the cluster is paused" : "";
    // Both may have one in common.
    const late = ending.length === 0 ? [] : [`${[...new Set(ending)].join("; ")}, and has not been renewed${paused}`];
    const told = [...late, ...renewalTroubles(snapshot)];
    return told.length === 0 ? undefined : remark("certificate-ends", told.join("; "));
  },
};

/** A clause about each that ends soon, or has. @param view by which it is looked after */
function endingOf(view: ClusterSnapshot | undefined, purposes: readonly Purpose[]): readonly string[] {
  if (view === undefined) return [];
  const { cluster, takenAtMs } = view;
  return purposes.flatMap((purpose) => {
    const found = seen(view, purpose);
    if (found === undefined || found.notAfterMs === 0) return [];
    if (!isLate(found, lifeOf(cluster.spec, sideOf(purpose)), takenAtMs)) return [];
    const verb = found.notAfterMs <= takenAtMs ? "has ended" : "ends";
    return [`Secret ${found.secretName}, ${WHAT_FOR[purpose]}, ${verb} at ${endText(purpose, found)}`];
  });
}
