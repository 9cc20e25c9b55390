import { requestWords } from "#certificates/request.ts";
import { wait } from "#runtime/decide.ts";
import { issuerOf } from "#user/credentials.ts";
import type { UserSnapshot } from "#user/snapshot.ts";
import { ownBinding } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: nobody tells when a Secret is filled. */
const RECHECK_MS = 5_000;

/** The binding waits for its certificate: for whoever signs, and for members that do not yet believe whom it has signed. */
export const awaitCertificate: UserRule = {
  name: "await-certificate",
  decide(snapshot) {
    const own = ownBinding(snapshot);
    if (own !== undefined && isWhole(snapshot, own.certificate?.trouble)) return undefined;
    return wait("await-certificate", whyNone(snapshot), RECHECK_MS);
  },
};

function isWhole({ cluster, binding }: UserSnapshot, trouble: string | undefined): boolean {
  if (cluster === undefined || issuerOf(cluster) === undefined) return true;
  return binding.is === "present" && binding.value.certificate !== undefined && trouble === undefined;
}

function whyNone({ cluster, signer, request, trust }: UserSnapshot): string {
  const issuer = cluster && issuerOf(cluster);
  if (issuer === "CertManager" && signer.is !== "present") {
    const said = request.is === "present" ? [requestWords(request.value)] : [];
    return ["cert-manager has not issued its certificate yet", ...said].join("; ");
  }
  if (signer.is === "unknown") return `who signs its certificate could not be read: ${signer.why}`;
  if (issuer !== undefined && signer.is === "absent")
    return "the authority that signs its certificate is not there yet";
  if (signer.is === "present" && signer.value.trouble !== undefined)
    return `Secret ${signer.value.secretName} is of no use: ${signer.value.trouble}`;
  return trust === undefined
    ? "it is not known yet by whom members' certificates are signed"
    : "its Secret is yet to be made";
}
