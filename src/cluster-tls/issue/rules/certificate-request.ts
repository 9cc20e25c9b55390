import { takenText } from "#cluster/owned.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { certificateRequest, requestDiffers } from "#cluster-tls/issue/desired/certificates.ts";
import { leavesOf, SIDES } from "#cluster-tls/read/purposes.ts";
import { isForeign, seen } from "#cluster-tls/read/usable.ts";
import { NOT_SERVED, notFilledText, WHAT_FOR } from "#cluster-tls/read/words.ts";
import { notice, step } from "#runtime/decide.ts";

/** Creates a Certificate for each Secret with provider CertManager; cert-manager fills and renews it. */
export const certificateRequestRule: ClusterRule = {
  name: "certificate-request",
  decide(snapshot) {
    const { cluster, certificates } = snapshot;
    let problem: string | undefined;
    for (const purpose of SIDES.flatMap((side) => leavesOf(cluster, side))) {
      const found = certificates?.requests?.[purpose]; // read only with provider CertManager
      if (found?.is === "notServed") problem ??= NOT_SERVED;
      if (found?.is !== "absent" && found?.is !== "present") continue;
      const request = certificateRequest(snapshot, purpose);
      const shown = seen(snapshot, purpose);
      if (found.is === "absent" && shown !== undefined && isForeign(snapshot, purpose, shown)) {
        problem ??= notFilledText(cluster.metadata.namespace, shown.secretName);
        continue;
      }
      const because = `Certificate ${request.metadata.name} asks cert-manager for ${WHAT_FOR[purpose]}`;
      if (found.is === "absent") return step(because, { do: "createRequest", purpose, request });
      const live = found.value;
      if (!isOwned(snapshot, live)) problem ??= takenText(live);
      else if (requestDiffers(live, request)) return step(because, { do: "replaceRequest", purpose, live, request });
    }
    return problem === undefined ? undefined : notice(problem);
  },
};
