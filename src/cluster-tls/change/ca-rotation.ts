import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { rotationWish } from "#api/rotation-wish.ts";
import type { Side } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hasSigned } from "#certificates/trust.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { membersUsingOtherCa, membersWithoutCa } from "#cluster-tls/check/trusted.ts";
import { leavesOf } from "#cluster-tls/read/purposes.ts";
import { authorityOf, usable } from "#cluster-tls/read/usable.ts";
import { whyBindingsLackCa, whyBindingsUsePreviousCa } from "./bindings.ts";

// How is a CA rotated while all members and clients stay connected?
//   Phase add: create the new CA, unless it exists, and trust it beside the old one, which still signs. Members restart
//   one at a time to trust both.
//   Phase switch: once every member trusts both, the new CA signs and every certificate is reissued by it (due.ts).
//   Members restart one at a time to use them.
//   Phase drop: once every member uses a new certificate, the old CA is no longer trusted. Members restart one at a
//   time.
//   On the client side, switch and drop also wait a fixed time for applications, and for the bindings of EtcdUsers
//   (bindings.ts).
// Why a second restart, and not a wait until the kubelet has updated the mounted Secret?
//   Nothing reports when the kubelet has done so, and only other members see which certificate a member uses to dial
//   them. A pod created after the Secret was written has its new content, as a rule, and etcd trusts the CAs that the
//   pod's annotation lists.
// And if a new pod does not have it?
//   A kubelet that already caches the Secret for another pod may mount an old version. So the old CA is dropped only
//   once the newest pod is older than that cache may be.
// Progress is derived from Secrets, EtcdPeers and pods, so a restarted operator continues where it was.

export type Phase = "add" | "switch" | "drop" | "forget";

/**
 * How long a CA is good, and how long before its end it is rotated, in milliseconds. A year: members restart for a rotation, so people need time to
 * let it happen. If it were shorter, a pause or a maintenance window could outlast it; if it were longer, members would restart more often.
 */
export const AUTHORITY_LIFE = { durationMs: 3_650 * 86_400_000, renewBeforeMs: 365 * 86_400_000 } as const;
const NEXT_BEFORE_MS = AUTHORITY_LIFE.renewBeforeMs;

interface Due {
  readonly phase: Phase;
  readonly because: string;
  readonly live: SeenCertificate;
  /** The only thing that the step waits for. */
  readonly waitsFor?: string | undefined;
  /**
   * Since when the cluster's own certificates are ready for the step, in milliseconds since 1970, as far as this
   * process knows.
   */
  readonly sinceMs?: number;
}

/** The next rotation step of this side's CA, when one is due and waits for nothing. */
export function phaseOf(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const due = dueOn(snapshot, side);
  return due?.waitsFor === undefined ? due : undefined;
}

/**
 * The applications that the next step waits for, as a sentence, when it waits for nothing else.
 * @param forMs report only when the cluster's own certificates have been ready for so long
 */
export function rotationWait(snapshot: ClusterSnapshot, side: Side, forMs = 0): string | undefined {
  const { phase, live, waitsFor, sinceMs = snapshot.takenAtMs } = dueOn(snapshot, side) ?? {};
  if (waitsFor === undefined || snapshot.takenAtMs - sinceMs < forMs) return undefined;
  const what = phase === "switch" ? "the new CA signs" : "the old CA is no longer trusted";
  return `CA in Secret ${live?.secretName}: before ${what}, ${waitsFor}`;
}

function dueOn(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const live = authorityOf(snapshot, side);
  if (live === undefined || live.notBeforeMs > snapshot.takenAtMs) return undefined;
  const { cluster } = snapshot;
  const leaves = leavesOf(cluster, side).map((purpose) => usable(snapshot, purpose));
  const { nextId, fingerprint: ownId, trust } = live;
  // A CA may have several trusted certificates, all with the same name and key.
  const isOwn = (leaf: SeenCertificate | undefined) => hasSigned(live, leaf);
  const sinceMs = snapshot.takenAtMs - Math.min(...leaves.map((leaf) => leaf?.knownForMs ?? 0));
  // When the CA expires, every client is cut off. So late bindings no longer hold up the switch, nor the drop that must
  // precede another rotation.
  const isEnding = live.notAfterMs - snapshot.takenAtMs <= NEXT_BEFORE_MS / 2;
  if (nextId !== undefined && !live.trustIds.includes(nextId))
    return { phase: "add", because: "its ca.crt lacks the next CA", live };
  if (nextId !== undefined) {
    const isReached =
      leaves.every((leaf) => hasReached(snapshot, side, leaf, nextId)) && isTrusted(snapshot, side, nextId);
    if (!isReached) return undefined;
    const waitsFor = side === "peer" || isEnding ? undefined : whyBindingsLackCa(snapshot, [nextId], sinceMs);
    return { phase: "switch", because: "every member trusts the next CA", live, waitsFor, sinceMs };
  }
  if (live.trustIds.length > 1) {
    const isReached = leaves.every((leaf) => isOwn(leaf) && hasReached(snapshot, side, leaf, ownId));
    const because = "every certificate that the old CA signed is replaced";
    // A pod created to use a certificate of the new CA also trusts that CA.
    if (!isReached || membersUsingOtherCa(snapshot, side, live).length > 0) return undefined;
    const waitsFor =
      side === "peer" || isEnding
        ? undefined
        : whyBindingsUsePreviousCa(snapshot, (signerId) => hasSigned(live, { signerId, trust }), sinceMs);
    return { phase: "drop", because, live, waitsFor, sinceMs };
  }
  // An unfinished rotation comes first: every certificate must be signed by this CA before the next one is created.
  if (!leaves.every(isOwn)) return undefined;
  const asked = rotationWish(snapshot.cluster, side);
  if (asked !== undefined && live.rotatedFor !== asked)
    return { phase: "add", because: `the annotation ${ROTATE_CA_ANNOTATION} requests a new CA`, live };
  if (live.notAfterMs - snapshot.takenAtMs <= NEXT_BEFORE_MS)
    return { phase: "add", because: `the CA expires at ${rfc3339(live.notAfterMs)}`, live };
  if (asked === undefined && live.rotatedFor !== undefined)
    return { phase: "forget", because: `the annotation ${ROTATE_CA_ANNOTATION} has been removed`, live };
  return undefined;
}

/**
 * Whether the certificate's Secret lists the CA and, on the client side, has done so for as long as applications take
 * to reread it. What members themselves trust and use is read from their pods.
 */
export function hasReached(
  snapshot: ClusterSnapshot,
  side: Side,
  leaf: SeenCertificate | undefined,
  authorityId: string,
): boolean {
  const isLong = side === "peer" || (leaf !== undefined && leaf.knownForMs >= snapshot.rereadWithinMs);
  return isLong && leaf?.trustIds.includes(authorityId) === true;
}

function isTrusted(snapshot: ClusterSnapshot, side: Side, id: string): boolean {
  return membersWithoutCa(snapshot, side, [id]).length === 0;
}
