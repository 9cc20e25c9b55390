import { step } from "#runtime/decide.ts";
import { issuerOf } from "#user/credentials.ts";
import { bindingRequest, requestDiffers } from "#user/desired/request.ts";
import type { UserRule } from "#user/step.ts";

/** Creates the cert-manager Certificate of the binding, or updates it when the wanted one differs. */
export const requestCertificate: UserRule = {
  name: "request-certificate",
  decide({ user, cluster, request }) {
    if (cluster === undefined || issuerOf(cluster) !== "CertManager" || request.is === "unknown") return undefined;
    const wanted = bindingRequest(user, cluster);
    if (request.is === "present" && !requestDiffers(request.value, wanted)) return undefined;
    const because = `cert-manager is to issue the certificate in Secret ${wanted.metadata.name}`;
    return step("request-certificate", because, { do: "requestCertificate", request: wanted });
  },
};
