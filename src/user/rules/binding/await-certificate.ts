import { requestWords } from "#certificates/request.ts";
import { wait } from "#runtime/decide.ts";
import { isIssuedOtherwise, isNamedOtherwise, issuerOf, orderOf } from "#user/credentials.ts";
import { hasPassword, ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/** Recheck in milliseconds: Secrets are not watched. */
const RECHECK_MS = 5_000;

/** Waits until the certificate is issued, and until every member trusts its CA. */
export const awaitCertificate: UserRule = {
  name: "await-certificate",
  decide(snapshot) {
    if (hasCertificate(snapshot)) return undefined;
    return wait("await-certificate", whyNone(snapshot), RECHECK_MS);
  },
};

function hasCertificate(snapshot: UserSnapshot): boolean {
  const { user, cluster } = snapshot;
  const own = ownBinding(snapshot);
  if (own === undefined) return false;
  if (cluster === undefined || issuerOf(cluster) === undefined) return true;
  const { certificate } = own;
  if (certificate === undefined || certificate.trouble !== undefined) return false;
  // With a password the certificate's common name does not matter.
  return hasPassword({ user }) || !isNamedOtherwise(user, cluster, certificate);
}

function whyNone(snapshot: UserSnapshot): string {
  const { user, cluster, signer, request, trust } = snapshot;
  const issuer = cluster && issuerOf(cluster);
  const said = request.is === "present" ? [requestWords(request.value)] : [];
  if (issuer === "CertManager" && signer.is !== "present")
    return ["cert-manager has not issued its certificate yet", ...said].join("; ");
  if (signer.is === "unknown") return `the CA of its certificate could not be read: ${signer.why}`;
  if (issuer !== undefined && signer.is === "absent") return "the CA that signs its certificate does not exist yet";
  if (signer.is === "present" && signer.value.trouble !== undefined)
    return `Secret ${signer.value.secretName} is unusable: ${signer.value.trouble}`;
  if (issuer === "CertManager" && isIssuedOtherwise(snapshot)) {
    const had = signer.is === "present" && signer.value.commonName;
    const name = had ? `the common name ${had}` : "another common name";
    const wanted = cluster && orderOf(user, cluster).commonName;
    return [`cert-manager's certificate has ${name}, and must have ${wanted}`, ...said].join("; ");
  }
  return trust === undefined ? "the CA of the members' certificates is not known yet" : "its Secret is not created yet";
}
