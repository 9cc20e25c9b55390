import { isDeleting } from "#access/claim.ts";
import { onlyRenews } from "#access/place.ts";
import { bindingCertificateName } from "#api/names.ts";
import { lifeOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { isLate } from "#certificates/late.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { isOverdue, requestWords } from "#certificates/request.ts";
import { notice, step, wait } from "#runtime/decide.ts";
import { isIssuedOtherwise, isNamedOtherwise, issuerOf, orderOf } from "#user/credentials.ts";
import { bindingWish, renewalWish, trustWish } from "#user/desired/binding.ts";
import { bindingRequest, requestDiffers } from "#user/desired/request.ts";
import { hasPassword, isOwned, ownBinding, type UserSnapshot, wouldOverwrite } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/**
 * Notices that the binding's certificate is overdue for renewal, or that cert-manager fails to renew it. All other
 * rules go on.
 */
export const bindingExpires: UserRule = {
  name: "binding-expires",
  decide(snapshot) {
    const notices = [...endingOf(snapshot), ...renewalTrouble(snapshot)];
    return notices.length === 0 ? undefined : notice(notices.join("; "));
  },
};

function endingOf({ user, cluster, binding, takenAtMs }: UserSnapshot): readonly string[] {
  const own = ownBinding({ user, binding });
  if (own?.certificate === undefined || cluster === undefined) return [];
  const { notAfterMs: endsMs } = own.certificate;
  if (endsMs === 0 || !isLate(own.certificate, lifeOf(cluster.spec, "client"), takenAtMs)) return [];
  const verb = endsMs <= takenAtMs ? "expired" : "expires";
  return [`the certificate in Secret ${own.name} ${verb} at ${rfc3339(endsMs)} and was not renewed in time`];
}

/** A renewal that cert-manager should have done and has not. */
function renewalTrouble(snapshot: UserSnapshot): readonly string[] {
  const { request, takenAtMs } = snapshot;
  if (request.is !== "present" || ownBinding(snapshot)?.certificate === undefined) return [];
  if (!isOverdue(request.value, takenAtMs)) return [];
  return [`Secret ${request.value.metadata.name} is not renewed: ${requestWords(request.value)}`];
}

/**
 * Renews the binding's certificate while the cluster is paused, by a CA that members trust, and while it sleeps, by the
 * CA that signed it. Otherwise the application would be cut off at its expiry. All other changes wait.
 */
export const renewBinding: UserRule = {
  name: "renew-binding",
  decide(snapshot) {
    const { user, cluster, elder } = snapshot;
    if (!onlyRenews(cluster) || isDeleting({ object: user }) || elder !== undefined) return undefined;
    const wish = refusalOf(snapshot) === undefined ? renewalWish(snapshot) : undefined;
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step(because, { do: "writeBinding", wish });
  },
};

/**
 * Keeps the CAs in the binding of a refused user up to date: otherwise its application would lose the connection after
 * a CA rotation.
 */
export const publishTrust: UserRule = {
  name: "publish-trust",
  decide(snapshot) {
    const wish = refusalOf(snapshot) === undefined ? undefined : trustWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step(because, { do: "writeBinding", wish });
  },
};

/** Recheck in milliseconds: Secrets are not watched. user/reads.ts limits how often it is read. */
const BINDING_TAKEN_RECHECK_MS = 10_000;

/**
 * Waits while a Secret of the binding's name has another owner: neither the operator nor cert-manager overwrites it.
 */
export const bindingTaken: UserRule = {
  name: "binding-taken",
  decide(snapshot) {
    const { user, binding } = snapshot;
    if (wouldOverwrite(snapshot)) {
      const name = bindingCertificateName(user.metadata.name);
      const because = `Secret ${name} exists already, and was not issued for this EtcdUser. cert-manager would overwrite it. Delete it, or create another EtcdUser.`;
      return wait(because, BINDING_TAKEN_RECHECK_MS, { warn: true });
    }
    if (binding.is !== "present" || isOwned(snapshot, binding.value)) return undefined;
    const because = `Secret ${binding.value.name} exists, and this EtcdUser has not created it; delete it, or create another EtcdUser`;
    return wait(because, BINDING_TAKEN_RECHECK_MS, { warn: true });
  },
};

/** Creates the cert-manager Certificate of the binding, or updates it when the wanted one differs. */
export const requestCertificate: UserRule = {
  name: "request-certificate",
  decide({ user, cluster, request }) {
    if (cluster === undefined || issuerOf(cluster) !== "CertManager" || request.is === "unknown") return undefined;
    const wanted = bindingRequest(user, cluster);
    if (request.is === "present" && !requestDiffers(request.value, wanted)) return undefined;
    const because = `cert-manager is to issue the certificate in Secret ${wanted.metadata.name}`;
    return step(because, { do: "requestCertificate", request: wanted });
  },
};

/** Creates the binding Secret, and updates it when its credentials are due for rotation or its keys are outdated. */
export const writeBinding: UserRule = {
  name: "write-binding",
  decide(snapshot) {
    const wish = bindingWish(snapshot);
    if (wish === undefined) return undefined;
    const because = `Secret ${wish.draft.metadata.name} is written: ${wish.because}`;
    return step(because, { do: "writeBinding", wish });
  },
};

/** Recheck in milliseconds: Secrets are not watched. */
const AWAIT_PASSWORD_RECHECK_MS = 60_000;

/** Reports a password in the binding that etcd would refuse. The previous password stays valid. */
export const awaitPassword: UserRule = {
  name: "await-password",
  decide(snapshot) {
    const own = ownBinding(snapshot);
    if (own?.passwordTrouble === undefined || !hasPassword(snapshot)) return undefined;
    const because = `Secret ${own.name}: ${own.passwordTrouble}; write a shorter one, or remove it so that the operator creates one`;
    return wait(because, AWAIT_PASSWORD_RECHECK_MS, { warn: true });
  },
};

/** Recheck in milliseconds: normally the API server is back within seconds. */
const AWAIT_BINDING_RECHECK_MS = 10_000;

/** Reports not ready while the binding Secret could not be read. */
export const awaitBinding: UserRule = {
  name: "await-binding",
  decide({ binding }) {
    if (binding.is !== "unknown") return undefined;
    const right = missingRightText(binding.why);
    const because = right ?? `the binding Secret could not be read: ${binding.why}`;
    return wait(because, AWAIT_BINDING_RECHECK_MS, { warn: right !== undefined });
  },
};

/** Recheck in milliseconds: Secrets are not watched. */
const AWAIT_CERTIFICATE_RECHECK_MS = 5_000;

/** Waits until the certificate is issued, and until every member trusts its CA. */
export const awaitCertificate: UserRule = {
  name: "await-certificate",
  decide(snapshot) {
    if (hasCertificate(snapshot)) return undefined;
    return wait(whyNone(snapshot), AWAIT_CERTIFICATE_RECHECK_MS);
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
    const wanted = (cluster && orderOf(user, cluster).commonName) ?? "none";
    return [`cert-manager's certificate has ${name}, and must have ${wanted}`, ...said].join("; ");
  }
  return trust === undefined ? "the CA of the members' certificates is not known yet" : "its Secret is not created yet";
}
