import { providerOf } from "#api/tls.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { type Fault, faultOf } from "#cluster-tls/check/fault.ts";
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
import { type Course, courses } from "./course.ts";
import { formerTls } from "./former.ts";

/** Problems of certificates that are in use during a provider change. Not all of those Secrets can be reissued. */
export function formerFaults(snapshot: ClusterSnapshot): readonly Fault[] {
  const former = formerTls(snapshot);
  if (former === undefined) return [];
  return purposesOf(former.cluster)
    .filter((purpose) => isLookedAfter(snapshot, purpose))
    .flatMap((purpose) => lossOf(snapshot, former, purpose) ?? faultOf(former, purpose) ?? []);
}

/**
 * Whether the previous source still manages this certificate. Applications move to the new one once members trust it.
 */
export function isLookedAfter(snapshot: ClusterSnapshot, purpose: Purpose): boolean {
  const { at } = courses(snapshot).client;
  return purpose !== "application" || at === "waiting" || at === "trust";
}

/**
 * The problem of a missing Secret that is in use and that is not reissued. `undefined` when it is reissued.
 * @param former the snapshot with the TLS in use
 */
function lossOf(snapshot: ClusterSnapshot, former: ClusterSnapshot, purpose: Purpose): Fault | undefined {
  const { cluster, certificates } = former;
  const side = sideOf(purpose);
  if (certificates?.[purpose]?.is !== "absent") return undefined;
  const nameOf = (each: Purpose) => `${cluster.metadata.namespace}/${secretNameOf(cluster, each)}`;
  const isLeft = LEFT.has(courses(snapshot)[side].at);
  const lost = (why: string, isForPeople: boolean): Fault => ({
    reason: "CertificateMissing",
    status: "False",
    isForPeople,
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
  const isForPeople = !(isLeft && isShownByMembers(purpose));
  const provider = providerOf(cluster.spec, side);
  if (provider === "CertManager")
    return lost(`only its cert-manager Certificate, if that exists, fills it again; ${goesOn}`, isForPeople);
  if (provider === "Operator" && authorityOf(former, side) === undefined)
    return lost(`Secret ${nameOf(AUTHORITY_OF[side])} cannot sign a new one; ${goesOn}`, isForPeople);
  return undefined;
}

/** Stages in which all members trust the requested certificate: their next restart uses it. */
const LEFT: ReadonlySet<Course["at"]> = new Set(["tell", "show", "hand"]);
