import { millisecondsOf } from "#api/duration.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import { areClientsVerified, lifeOf, providerOf } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { fingerprint } from "#base/hash.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import type { LeafWish } from "#certificates/issue.ts";
import { isIssued } from "#certificates/request.ts";
import { hasSigned } from "#certificates/trust.ts";
import { type BindingFacts, hasPassword, type UserSnapshot } from "#user/snapshot.ts";

// Why does a user with a password get a certificate, too?
//   Members that verify clients refuse connections without one. The password authenticates. The certificate alone
//   grants nothing, since it has no common name.
// Why does that certificate have no common name?
//   With auth enabled, etcd's JSON gateway refuses every certificate that has one, even when the request has a valid
//   token (server/embed/serve.go).
// What do gRPC clients lose?
//   Nothing: etcd uses the token, and a common name only in requests without a token (server/auth/store.go).

/** What issues the certificate of the binding; undefined: it has none. */
export function issuerOf({ spec }: Pick<EtcdCluster, "spec">): "Operator" | "CertManager" | undefined {
  const provider = providerOf(spec, "client");
  const isIssued = provider === "Operator" || provider === "CertManager";
  return isIssued && areClientsVerified(spec) ? provider : undefined;
}

/**
 * Whether the binding keeps a certificate that is no longer renewed, because some member still trusts it. The provider
 * was changed to Secret, or members are being restarted without TLS or client verification.
 *
 * The certificate is removed when it has expired, when no member trusts or requests it, or when a user deletes it.
 */
export function isPairKept({ cluster, takenAtMs, isBelieved }: UserSnapshot, own: BindingFacts | undefined): boolean {
  const certificate = own?.certificate;
  if (cluster === undefined || certificate === undefined || certificate.trouble !== undefined) return false;
  return isBelieved && certificate.notAfterMs > takenAtMs && mayBeAskedFor(cluster);
}

function mayBeAskedFor({ metadata, spec, status }: EtcdCluster): boolean {
  // Members without client TLS trust no CA, so the certificate is removed by isBelieved.
  if (areClientsVerified(spec) || providerOf(spec, "client") === "None") return true;
  const isArrived = status?.conditions?.some(
    ({ type, status: is, observedGeneration }) =>
      type === "UpToDate" && is === "True" && observedGeneration === metadata.generation,
  );
  return isArrived !== true;
}

/** Name, usages and duration of a certificate for the binding. */
export function orderOf(
  user: EtcdUser,
  { metadata: { namespace, name }, spec }: Pick<EtcdCluster, "metadata" | "spec">,
): Pick<LeafWish, "commonName" | "names" | "usages"> & { readonly durationMs: number } {
  const { durationMs } = lifeOf(spec, "client");
  const rest = { usages: ["clientAuth"], durationMs } as const;
  if (!hasPassword({ user })) return { commonName: userNameOf(user), names: [], ...rest };
  // cert-manager requires at least one DNS name. No member has this one. An approval policy permits it, because it must
  // permit *.NAME.NAMESPACE.svc for members.
  return { commonName: undefined, names: [`binding.${name}.${namespace}.svc`], ...rest };
}

/** Whether etcd would map the certificate to another user. */
export function isNamedOtherwise(
  user: EtcdUser,
  cluster: Pick<EtcdCluster, "metadata" | "spec">,
  { commonName }: Pick<CertificateFacts, "commonName">,
): boolean {
  return commonName !== (orderOf(user, cluster).commonName ?? "");
}

/**
 * Whether cert-manager's certificate has another common name, for example of an earlier EtcdUser of this name. With a
 * password the issuer may choose the common name, once cert-manager reports that the certificate was issued for this
 * request.
 */
export function isIssuedOtherwise({ user, cluster, signer, request }: UserSnapshot): boolean {
  if (cluster === undefined || signer.is !== "present" || !isNamedOtherwise(user, cluster, signer.value)) return false;
  return !hasPassword({ user }) || request.is !== "present" || !isIssued(request.value);
}

/** Fingerprint of the order for which the certificate was issued, recorded in the Secret. */
export function madeForOf(user: EtcdUser, cluster: Pick<EtcdCluster, "metadata" | "spec">): string {
  return fingerprint(orderOf(user, cluster));
}

/** Why the credentials are due for rotation, as a clause about the Secret; undefined when they are not. */
export function rotationDue({ user, takenAtMs }: UserSnapshot, binding: BindingFacts): string | undefined {
  const asked = rotationRequest(user, ROTATE_CREDENTIALS_ANNOTATION);
  if (asked !== undefined && asked !== binding.rotatedFor)
    return `${ROTATE_CREDENTIALS_ANNOTATION} asks for new credentials`;
  const everyMs = millisecondsOf(user.spec.rotation?.every ?? "");
  if (everyMs === undefined) return undefined;
  // Credentials of unknown age are treated as expired.
  const { rotatedAtMs = Number.NEGATIVE_INFINITY } = binding;
  if (takenAtMs - rotatedAtMs < everyMs) return undefined;
  const since = rotatedAtMs === Number.NEGATIVE_INFINITY ? "at an unknown time" : `at ${rfc3339(rotatedAtMs)}`;
  return `its credentials were created ${since}, and spec.rotation.every is ${user.spec.rotation?.every}`;
}

/** Why the operator has to issue a new certificate for the binding; undefined when the current one is good. */
export function pairDue(snapshot: UserSnapshot, binding: BindingFacts): string | undefined {
  const { user, cluster, takenAtMs, signer } = snapshot;
  const { certificate } = binding;
  if (cluster === undefined) return undefined;
  if (certificate === undefined) return "it has no certificate";
  if (certificate.trouble !== undefined) return certificate.trouble;
  if (certificate.madeFor !== madeForOf(user, cluster) || isNamedOtherwise(user, cluster, certificate))
    return "its certificate does not match the spec";
  if (signer.is !== "present") return undefined;
  if (!hasSigned(signer.value, certificate)) return "the CA has changed";
  const ends = renewalDue(cluster, takenAtMs, certificate, signer.value);
  if (ends !== undefined) return ends;
  return hasPassword({ user }) ? undefined : rotationDue(snapshot, binding);
}

/**
 * Why the certificate is due for renewal, as a clause about the Secret. Undefined when it is not due, or when a new one
 * would not expire later.
 */
export function renewalDue(
  { spec }: Pick<EtcdCluster, "spec">,
  nowMs: number,
  certificate: Pick<CertificateFacts, "notAfterMs">,
  signer: Pick<CertificateFacts, "notAfterMs">,
): string | undefined {
  const { durationMs, renewBeforeMs } = lifeOf(spec, "client");
  const isLonger = Math.min(nowMs + durationMs, signer.notAfterMs) > certificate.notAfterMs;
  const isEnding = certificate.notAfterMs - nowMs <= renewBeforeMs;
  return isEnding && isLonger ? `its certificate expires at ${rfc3339(certificate.notAfterMs)}` : undefined;
}
