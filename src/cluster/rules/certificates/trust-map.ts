import { TRUST_FILE } from "#api/names.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { bothIn, courses } from "#cluster/certificates/course.ts";
import { united } from "#cluster/certificates/trusted.ts";
import { usable } from "#cluster/certificates/usable.ts";
import { trustMap, trustMapDiffers } from "#cluster/desired/certificates.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** A ConfigMap says whom clients have to trust: for those that show no certificate themselves. */
export const trustMapRule: ClusterRule = {
  name: "trust-map",
  decide(snapshot) {
    const found = snapshot.certificates?.trustMap;
    const course = courses(snapshot).client;
    const trust = bothIn(course) ?? usable(snapshot, "server")?.trust;
    if (trust === undefined || found === undefined || found.is === "unknown") return undefined;
    // While members wait it may say more than by whom they are known by now, and nothing of that is taken away.
    const kept = course.at === "waiting" && found.is === "present" ? (found.value.data?.[TRUST_FILE] ?? "") : undefined;
    if (kept !== undefined && isAmong(trust, kept)) return undefined;
    const wanted = trustMap(snapshot, kept === undefined ? trust : united(trust, kept));
    const tells = `ConfigMap ${wanted.metadata.name} tells clients whom to trust`;
    if (found.is === "absent") return step("trust-map", tells, { do: "createTrustMap", map: wanted });
    const live = found.value;
    if (!isOwned(snapshot, live)) return remark("trust-map", takenText(live));
    if (!trustMapDiffers(live, wanted)) return undefined;
    return step("trust-map", tells, { do: "replaceTrustMap", live, map: wanted });
  },
};

/** Whether everybody of the one bundle is in the other one. */
function isAmong(some: string, all: string): boolean {
  const known = new Set(parsedIn(all).map(idOf));
  return parsedIn(some).every((each) => known.has(idOf(each)));
}
