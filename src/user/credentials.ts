import { millisecondsOf } from "#api/duration.ts";
import { userNameOf } from "#api/etcd-names.ts";
import { ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
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

// Why does who logs in by a password get a certificate, too?
//   etcd with auth talks only to clients that show one. By the common name of that one etcd knows nobody: no EtcdUser can have a name with a
//   colon. So the password is what counts, and who has the certificate alone is nobody.

const MAX_COMMON_NAME_LENGTH = 64;

/** Who makes the pair of the binding; undefined: it has none. */
export function issuerOf({ spec }: Pick<EtcdCluster, "spec">): "Operator" | "CertManager" | undefined {
  const provider = providerOf(spec, "client");
  const isIssued = provider === "Operator" || provider === "CertManager";
  return isIssued && areClientsVerified(spec) ? provider : undefined;
}

/**
 * Whether the binding keeps a pair that nobody here makes anew, since some member still believes this one: people bring certificates by now, and nobody
 * knows whether the application has another one yet; or members are to ask for none, or to speak no TLS, and some of them still do. It goes when it has
 * ended, when no member believes it, or asks for it, any more, or by a person's hand.
 */
export function isPairKept({ cluster, takenAtMs, isBelieved }: UserSnapshot, own: BindingFacts | undefined): boolean {
  const certificate = own?.certificate;
  if (cluster === undefined || certificate === undefined || certificate.trouble !== undefined) return false;
  return isBelieved && certificate.notAfterMs > takenAtMs && mayBeAskedFor(cluster);
}

function mayBeAskedFor({ metadata, spec, status }: EtcdCluster): boolean {
  // Who speaks no TLS towards clients any more believes nobody.
  if (areClientsVerified(spec) || providerOf(spec, "client") === "None") return true;
  const isArrived = status?.conditions?.some(
    ({ type, status: is, observedGeneration }) =>
      type === "UpToDate" && is === "True" && observedGeneration === metadata.generation,
  );
  return isArrived !== true;
}

/** What a certificate for the binding has to say. */
export function orderOf(
  user: EtcdUser,
  cluster: Pick<EtcdCluster, "spec">,
): Pick<LeafWish, "names" | "usages"> & { readonly commonName: string; readonly durationMs: number } {
  const commonName = hasPassword({ user }) ? `binding:${user.metadata.name}` : userNameOf(user);
  const { durationMs } = lifeOf(cluster.spec, "client");
  return { commonName: commonName.slice(0, MAX_COMMON_NAME_LENGTH), names: [], usages: ["clientAuth"], durationMs };
}

/** Whether etcd would take who shows the certificate for somebody else. */
export function isNamedOtherwise(
  user: EtcdUser,
  cluster: Pick<EtcdCluster, "spec">,
  { commonName }: Pick<CertificateFacts, "commonName">,
): boolean {
  return commonName !== orderOf(user, cluster).commonName;
}

/**
 * Whether what cert-manager has made is named for somebody else: an EtcdUser of this name that was here before leaves its own. Who logs in by a
 * password may have a name that the issuer chooses, once cert-manager says that it has made it for this one.
 */
export function isIssuedOtherwise({ user, cluster, signer, request }: UserSnapshot): boolean {
  if (cluster === undefined || signer.is !== "present" || !isNamedOtherwise(user, cluster, signer.value)) return false;
  return !hasPassword({ user }) || request.is !== "present" || !isIssued(request.value);
}

/** By which the Secret says what its certificate was made for. */
export function madeForOf(user: EtcdUser, cluster: Pick<EtcdCluster, "spec">): string {
  return fingerprint(orderOf(user, cluster));
}

/** Which new credentials a person wants now; undefined when none does. */
export function rotationAsked({ metadata }: Pick<EtcdUser, "metadata">): string | undefined {
  return metadata.annotations?.[ROTATE_CREDENTIALS_ANNOTATION];
}

/** Why the credentials of the binding are followed by new ones, as a clause about the Secret; undefined when they are not. */
export function rotationDue({ user, takenAtMs }: UserSnapshot, binding: BindingFacts): string | undefined {
  const asked = rotationAsked(user);
  if (asked !== undefined && asked !== binding.rotatedFor)
    return `${ROTATE_CREDENTIALS_ANNOTATION} asks for new credentials`;
  const everyMs = millisecondsOf(user.spec.rotation?.every ?? "");
  if (everyMs === undefined) return undefined;
  // What does not say how old it is may be of any age.
  const { rotatedAtMs = Number.NEGATIVE_INFINITY } = binding;
  if (takenAtMs - rotatedAtMs < everyMs) return undefined;
  const since = rotatedAtMs === Number.NEGATIVE_INFINITY ? "it does not say when" : `at ${rfc3339(rotatedAtMs)}`;
  return `its credentials were made ${since}, and are to be made every ${user.spec.rotation?.every}`;
}

/** Why the pair in the binding is to be another one, when the operator signs; undefined when it is good. */
export function pairDue(snapshot: UserSnapshot, binding: BindingFacts): string | undefined {
  const { user, cluster, takenAtMs, signer } = snapshot;
  const { certificate } = binding;
  if (cluster === undefined) return undefined;
  if (certificate === undefined) return "it has no certificate";
  if (certificate.trouble !== undefined) return certificate.trouble;
  if (certificate.madeFor !== madeForOf(user, cluster) || isNamedOtherwise(user, cluster, certificate))
    return "its certificate was made for something else";
  if (signer.is !== "present") return undefined;
  if (!hasSigned(signer.value, certificate)) return "its authority is followed by another one";
  const { durationMs, renewBeforeMs } = lifeOf(cluster.spec, "client");
  // A new one that would not last longer helps nobody.
  const isLonger = Math.min(takenAtMs + durationMs, signer.value.notAfterMs) > certificate.notAfterMs;
  const isEnding = certificate.notAfterMs - takenAtMs <= renewBeforeMs;
  if (isEnding && isLonger) return `its certificate ends at ${rfc3339(certificate.notAfterMs)}`;
  return hasPassword({ user }) ? undefined : rotationDue(snapshot, binding);
}
