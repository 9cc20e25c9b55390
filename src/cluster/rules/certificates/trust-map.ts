import { bothIn, courses } from "#cluster/certificates/course.ts";
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
    if (course.at === "waiting" && found.is === "present") return undefined; // It says by whom members are known by now.
    const wanted = trustMap(snapshot, trust);
    const tells = `ConfigMap ${wanted.metadata.name} tells clients whom to trust`;
    if (found.is === "absent") return step("trust-map", tells, { do: "createTrustMap", map: wanted });
    const live = found.value;
    if (!isOwned(snapshot, live)) return remark("trust-map", takenText(live));
    if (!trustMapDiffers(live, wanted)) return undefined;
    return step("trust-map", tells, { do: "replaceTrustMap", live, map: wanted });
  },
};
