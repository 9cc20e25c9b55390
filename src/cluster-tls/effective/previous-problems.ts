import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { isNewTrusted, providerChanges } from "#cluster-tls/change/provider-change.ts";
import { type CertificateProblem, certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import {
  AUTHORITY_OF,
  isAuthority,
  isShownByMembers,
  purposesOf,
  secretNameOf,
  sideOf,
} from "#cluster-tls/read/purposes.ts";
import { authorityOf } from "#cluster-tls/read/usable.ts";
import { WHAT_FOR } from "#cluster-tls/read/words.ts";
import { previousTls } from "./previous.ts";

/** Problems of certificates that are in use during a provider change. Not all of those Secrets can be reissued. */
export function previousProblems(snapshot: ClusterSnapshot): readonly CertificateProblem[] {
  const previous = previousTls(snapshot);
  if (previous === undefined) return [];
  return purposesOf(previous.cluster)
    .filter((purpose) => isManagedByPrevious(snapshot, purpose))
    .flatMap((purpose) => missingProblem(snapshot, previous, purpose) ?? certificateProblem(previous, purpose) ?? []);
}

/**
 * Whether the previous source still manages this certificate. Applications move to the new one once members trust it.
 */
export function isManagedByPrevious(snapshot: ClusterSnapshot, purpose: Purpose): boolean {
  const change = providerChanges(snapshot).client;
  return purpose !== "application" || (change !== undefined && !isNewTrusted(change));
}

/**
 * The problem of a missing Secret that is in use and that is not reissued. `undefined` when it is reissued.
 * @param previous the snapshot with the TLS in use
 */
function missingProblem(
  snapshot: ClusterSnapshot,
  previous: ClusterSnapshot,
  purpose: Purpose,
): CertificateProblem | undefined {
  const { cluster, certificates } = previous;
  const side = sideOf(purpose);
  if (certificates?.[purpose]?.is !== "absent") return undefined;
  const nameOf = (each: Purpose) => `${cluster.metadata.namespace}/${secretNameOf(cluster, each)}`;
  const change = providerChanges(snapshot)[side];
  const isLeft = change !== undefined && isNewTrusted(change);
  const lost = (why: string, needsUser: boolean): CertificateProblem => ({
    reason: "CertificateMissing",
    status: "False",
    needsUser,
    message: `Secret ${nameOf(purpose)}, ${WHAT_FOR[purpose]}, is missing: ${why}`,
  });
  if (isAuthority(purpose))
    return lost(
      "no new CA is created during a provider change; certificates that it signed are valid until they expire",
      false,
    );
  const goesOn = isShownByMembers(purpose)
    ? isLeft
      ? "members keep using it until they use the requested one"
      : "members keep using it, and none restarts until it exists again: restore it"
    : "its current users keep using it; restore it";
  const needsUser = !(isLeft && isShownByMembers(purpose));
  const provider = providerOf(cluster.spec, side);
  if (provider === "CertManager")
    return lost(`only its cert-manager Certificate, if that exists, fills it again; ${goesOn}`, needsUser);
  if (provider === "Operator" && authorityOf(previous, side) === undefined)
    return lost(`Secret ${nameOf(AUTHORITY_OF[side])} cannot sign a new one; ${goesOn}`, needsUser);
  return undefined;
}
