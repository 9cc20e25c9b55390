import { lifeOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { purposesOf, sideOf } from "#cluster/certificates/purposes.ts";
import { renewalTroubles } from "#cluster/certificates/renewal.ts";
import { seen } from "#cluster/certificates/usable.ts";
import { WHAT_FOR } from "#cluster/certificates/words.ts";
import { isPaused } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark } from "#runtime/decide.ts";

/** A certificate comes to its end, and should have been renewed long ago, or cert-manager does not renew it. People are told; all else goes on. */
export const certificateEnds: ClusterRule = {
  name: "certificate-ends",
  decide(snapshot) {
    const { cluster, takenAtMs } = snapshot;
    const ending = purposesOf(cluster).flatMap((purpose) => {
      const found = seen(snapshot, purpose);
      if (found === undefined || found.notAfterMs === 0) return [];
      const { renewBeforeMs } = lifeOf(cluster.spec, sideOf(purpose));
      const isLate = found.notAfterMs - takenAtMs <= renewBeforeMs / 2;
      const verb = found.notAfterMs <= takenAtMs ? "has ended" : "ends";
      return isLate
        ? [`Secret ${found.secretName}, ${WHAT_FOR[purpose]}, ${verb} at ${rfc3339(found.notAfterMs)}`]
        : [];
    });
    const paused = isPaused(snapshot) ? ", while the cluster is paused" : "";
    const late = ending.length === 0 ? [] : [`${ending.join("; ")}, and has not been renewed${paused}`];
    const told = [...late, ...renewalTroubles(snapshot)];
    return told.length === 0 ? undefined : remark("certificate-ends", told.join("; "));
  },
};
