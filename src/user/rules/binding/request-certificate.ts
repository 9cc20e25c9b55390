import { step } from "#runtime/decide.ts";
import { issuerOf } from "#user/credentials.ts";
import { bindingRequest, requestDiffers } from "#user/desired/request.ts";
import type { UserRule } from "#user/step.ts";

/** cert-manager is asked for the binding's certificate, where it is the one who issues; and again when another one is wanted. */
export const requestCertificate: UserRule = {
  name: "request-certificate",
  decide({ user, cluster, request }) {
    if (cluster === undefined || issuerOf(cluster) !== "CertManager" || request.is === "unknown") return undefined;
    const wanted = bindingRequest(user, cluster);
    if (request.is === "present" && !requestDiffers(request.value, wanted)) return undefined;
    const because = `cert-manager is asked for the certificate of Secret ${wanted.metadata.name}`;
    return step("request-certificate", because, { do: "requestCertificate", request: wanted });
  },
};
