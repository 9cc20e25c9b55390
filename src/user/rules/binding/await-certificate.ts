import { requestWords } from "#certificates/request.ts";
import { wait } from "#runtime/decide.ts";
import { isIssuedOtherwise, isNamedOtherwise, issuerOf, orderOf } from "#user/credentials.ts";
import { hasPassword, ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** In milliseconds: nobody tells when a Secret is filled. */
const RECHECK_MS = 5_000;

/** The binding waits for its certificate: for whoever signs, and for members that do not yet believe whom it has signed. */
export const awaitCertificate: UserRule = {
  name: "await-certificate",
  decide(snapshot) {
    if (isWhole(snapshot)) return undefined;
    return wait("await-certificate", whyNone(snapshot), RECHECK_MS);
  },
};

function isWhole(snapshot: UserSnapshot): boolean {
  const { user, cluster } = snapshot;
  const own = ownBinding(snapshot);
  if (own === undefined) return false;
  if (cluster === undefined || issuerOf(cluster) === undefined) return true;
  const { certificate } = own;
  if (certificate === undefined || certificate.trouble !== undefined) return false;
  // Who logs in by a password is nobody by its certificate, or whom an issuer makes of it.
  return hasPassword({ user }) || !isNamedOtherwise(user, cluster, certificate);
}

function whyNone(snapshot: UserSnapshot): string {
  const { user, cluster, signer, request, trust } = snapshot;
  const issuer = cluster && issuerOf(cluster);
  const said = request.is === "present" ? [requestWords(request.value)] : [];
  if (issuer === "CertManager" && signer.is !== "present")
    return ["cert-manager has not issued its certificate yet", ...said].join("; ");
  if (signer.is === "unknown") return `who signs its certificate is not known: ${signer.why}`;
  if (issuer !== undefined && signer.is === "absent")
    return "the authority that signs its certificate is not there yet";
  if (signer.is === "present" && signer.value.trouble !== undefined)
    return `Secret ${signer.value.secretName} is of no use: ${signer.value.trouble}`;
  if (issuer === "CertManager" && isIssuedOtherwise(snapshot)) {
    const had = signer.is === "present" && signer.value.commonName;
    const name = had ? `the common name ${had}` : "another common name";
    const wanted = cluster && orderOf(user, cluster).commonName;
    return [`cert-manager's certificate has ${name}, and is to have ${wanted}`, ...said].join("; ");
  }
  return trust === undefined
    ? "it is not known yet by whom members' certificates are signed"
    : "its Secret is yet to be made";
}
