import { leavesOf, SIDES } from "#cluster/certificates/purposes.ts";
import { isForeign, seen } from "#cluster/certificates/usable.ts";
import { notFilledText, WHAT_FOR } from "#cluster/certificates/words.ts";
import { certificateRequest, requestDiffers } from "#cluster/desired/certificates.ts";
import { takenText } from "#cluster/rules/identity/name-taken.ts";
import { isOwned } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/** With the provider CertManager a Certificate asks for each Secret; cert-manager fills and renews it. */
export const certificateRequestRule: ClusterRule = {
  name: "certificate-request",
  decide(snapshot) {
    const { cluster, certificates } = snapshot;
    let told: string | undefined;
    for (const purpose of SIDES.flatMap((side) => leavesOf(cluster, side))) {
      const found = certificates?.requests?.[purpose]; // nobody looks for one where another provider issues
      if (found?.is === "notServed") told ??= NOT_SERVED;
      if (found?.is !== "absent" && found?.is !== "present") continue;
      const request = certificateRequest(snapshot, purpose);
      const shown = seen(snapshot, purpose);
      if (found.is === "absent" && shown !== undefined && isForeign(snapshot, purpose, shown)) {
        told ??= notFilledText(cluster.metadata.namespace, shown.secretName);
        continue;
      }
      const because = `Certificate ${request.metadata.name} asks cert-manager for ${WHAT_FOR[purpose]}`;
      if (found.is === "absent") return step("certificate-request", because, { do: "createRequest", purpose, request });
      const live = found.value;
      if (!isOwned(snapshot, live)) told ??= takenText(live);
      else if (requestDiffers(live, request))
        return step("certificate-request", because, { do: "replaceRequest", purpose, live, request });
    }
    return told === undefined ? undefined : remark("certificate-request", told);
  },
};

export const NOT_SERVED =
  "the provider is CertManager, and the API server knows no Certificates (certificates.cert-manager.io, v1): install cert-manager; it is looked for every five minutes";
