import { ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import { rotationRequest } from "#api/rotation-request.ts";
import type { Side } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hasSigned } from "#certificates/trust.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { membersUsingOtherCa, membersWithoutCa } from "#cluster-tls/check/trusted.ts";
import { leavesOf, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { authorityOf, usable } from "#cluster-tls/read/usable.ts";
import { notTrustingText } from "#cluster-tls/read/words.ts";
import { whyBindingsLackCa, whyBindingsUsePreviousCa } from "./bindings.ts";
import type { TlsChange } from "./change.ts";
import { forReread, isCaPublished } from "./clients.ts";

// How is a CA rotated while all members and clients stay connected?
//   AcceptBoth: create the new CA, unless it exists, and trust it beside the old one, which still signs (step add).
//   UseNew: once every member trusts both, the new CA signs and every certificate is reissued by it (step switch,
//   issue/due.ts). Members restart to use them.
//   DropOld: once every member uses a new certificate, the old CA is no longer trusted (step drop).
//   On the client side, UseNew and DropOld also wait a fixed time for applications, and for the bindings of EtcdUsers
//   (bindings.ts).
// Why a second restart, and not a wait until the kubelet has updated the mounted Secret?
//   Nothing reports when the kubelet has done so, and only other members see which certificate a member uses to dial
//   them. A pod created after the Secret was written has its new content, as a rule, and etcd trusts the CAs that the
//   pod's annotation lists.
// And if a new pod does not have it?
//   A kubelet that already caches the Secret for another pod may mount an old version. So the old CA is dropped only
//   once the newest pod is older than that cache may be.

export type Phase = "add" | "switch" | "drop" | "forget";

/**
 * How long a CA is good, and how long before its end it is rotated, in milliseconds. A year: members restart for a rotation, so people need time to
 * let it happen. If it were shorter, a pause or a maintenance window could outlast it; if it were longer, members would restart more often.
 */
export const AUTHORITY_LIFE = { durationMs: 3_650 * 86_400_000, renewBeforeMs: 365 * 86_400_000 } as const;
const NEXT_BEFORE_MS = AUTHORITY_LIFE.renewBeforeMs;

/** A step of a rotation that is due. */
interface Due {
  readonly phase: Phase;
  readonly because: string;
  readonly live: SeenCertificate;
}

interface Rotation extends TlsChange {
  readonly kind: "CARotation";
  /** The CA in the Secret. */
  readonly live: SeenCertificate;
  /** The step that ends the round. `undefined` while the cluster's own members and certificates are not ready for it. */
  readonly next?: Due;
  /** The applications that the step waits for. */
  readonly blockedBy?: string | undefined;
  /**
   * Since when the cluster's own certificates are ready for the step, in milliseconds since 1970, as far as this
   * process knows.
   */
  readonly sinceMs: number;
}

interface Rotations {
  readonly peer: Rotation | undefined;
  readonly client: Rotation | undefined;
}

/** The rotation of each side's CA, until its last round, in which members drop the old CA. */
export const caRotations = remembered((snapshot): Rotations => {
  return { peer: rotationOn(snapshot, "peer"), client: rotationOn(snapshot, "client") };
});

/** The next rotation step of this side's CA, when one is due and waits for nothing. */
export function phaseOf(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const rotation = caRotations(snapshot)[side];
  if (rotation === undefined) return dueAtRest(snapshot, side);
  return rotation.blockedBy === undefined ? rotation.next : undefined;
}

/**
 * The applications that the next step waits for, as a sentence, when it waits for nothing else.
 * @param forMs report only when the cluster's own certificates have been ready for so long
 */
export function rotationWait(snapshot: ClusterSnapshot, side: Side, forMs = 0): string | undefined {
  const rotation = caRotations(snapshot)[side];
  if (rotation?.blockedBy === undefined || snapshot.takenAtMs - rotation.sinceMs < forMs) return undefined;
  const what = rotation.next?.phase === "switch" ? "the new CA signs" : "the old CA is no longer trusted";
  return `CA in Secret ${rotation.live.secretName}: before ${what}, ${rotation.blockedBy}`;
}

/** The CA of this side, when the operator can sign with it now. */
function signingNow(snapshot: ClusterSnapshot, side: Side): SeenCertificate | undefined {
  const live = authorityOf(snapshot, side);
  return live === undefined || live.notBeforeMs > snapshot.takenAtMs ? undefined : live;
}

/** The rotation while the CA's Secret lists more than one CA. */
function rotationOn(snapshot: ClusterSnapshot, side: Side): Rotation | undefined {
  const live = signingNow(snapshot, side);
  if (live === undefined) return undefined;
  const { nextId, fingerprint: ownId, trust, trustIds } = live;
  const purposes = leavesOf(snapshot.cluster, side);
  const leaves = purposes.map((purpose) => usable(snapshot, purpose));
  const lateSecret = (isDone: (leaf: SeenCertificate | undefined) => boolean) => {
    const late = purposes.find((_, n) => !isDone(leaves[n]));
    return late && `Secret ${secretNameOf(snapshot.cluster, late)}`;
  };
  const sinceMs = snapshot.takenAtMs - Math.min(...leaves.map((leaf) => leaf?.knownForMs ?? 0));
  // When the CA expires, every client is cut off. So late bindings no longer hold up the switch, nor the drop that must
  // precede another rotation.
  const areBindingsWaitedFor = side === "client" && live.notAfterMs - snapshot.takenAtMs > NEXT_BEFORE_MS / 2;
  if (nextId !== undefined) {
    const base = { kind: "CARotation", round: "AcceptBoth", from: ownId, to: nextId, live, sinceMs } as const;
    if (!trustIds.includes(nextId)) {
      const because = "its ca.crt lacks the next CA";
      return { ...base, waitsFor: `Secret ${live.secretName}: ${because}`, next: { phase: "add", because, live } };
    }
    const lacking = membersWithoutCa(snapshot, side, [nextId]);
    if (lacking.length > 0) return { ...base, waitsFor: notTrustingText(lacking) };
    const late = lateSecret((leaf) => isCaPublished(snapshot, side, leaf, nextId));
    if (late !== undefined)
      return { ...base, waitsFor: `${late} has to list the new CA in ca.crt${forReread(snapshot, side)}` };
    const next = { phase: "switch", because: "every member trusts the next CA", live } as const;
    const blockedBy = areBindingsWaitedFor ? whyBindingsLackCa(snapshot, [nextId], sinceMs) : undefined;
    return { ...base, waitsFor: blockedBy ?? "the new CA signs next", next, blockedBy };
  }
  if (trustIds.length <= 1) return undefined;
  const from = trustIds.find((id) => id !== ownId);
  const base = { kind: "CARotation", round: "UseNew", from, to: ownId, live, sinceMs } as const;
  // A pod created to use a certificate of the new CA also trusts that CA.
  const late = lateSecret((leaf) => hasSigned(live, leaf) && isCaPublished(snapshot, side, leaf, ownId));
  if (late !== undefined)
    return { ...base, waitsFor: `${late} has to hold a certificate of the new CA${forReread(snapshot, side)}` };
  const users = membersUsingOtherCa(snapshot, side, live);
  if (users.length > 0) return { ...base, waitsFor: `${users.join(", ")} may still use a certificate of the old CA` };
  const isNew = (signerId: string) => hasSigned(live, { signerId, trust });
  const next = { phase: "drop", because: "every certificate that the old CA signed is replaced", live } as const;
  const blockedBy = areBindingsWaitedFor ? whyBindingsUsePreviousCa(snapshot, isNew, sinceMs) : undefined;
  return { ...base, waitsFor: blockedBy ?? "the old CA is dropped next", next, blockedBy };
}

/** The step that begins a rotation, or that forgets the last request after its annotation was removed. */
function dueAtRest(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const live = signingNow(snapshot, side);
  const { cluster, takenAtMs } = snapshot;
  // An unfinished rotation comes first: every certificate must be signed by this CA before the next one is created. A CA
  // may have several trusted certificates, all with the same name and key.
  const leaves = leavesOf(cluster, side).map((purpose) => usable(snapshot, purpose));
  if (live === undefined || !leaves.every((leaf) => hasSigned(live, leaf))) return undefined;
  const asked = rotationRequest(cluster, ROTATE_CA_ANNOTATIONS[side]);
  if (asked !== undefined && live.rotatedFor !== asked)
    return { phase: "add", because: `the annotation ${ROTATE_CA_ANNOTATIONS[side]} requests a new CA`, live };
  if (live.notAfterMs - takenAtMs <= NEXT_BEFORE_MS)
    return { phase: "add", because: `the CA expires at ${rfc3339(live.notAfterMs)}`, live };
  if (asked === undefined && live.rotatedFor !== undefined)
    return { phase: "forget", because: `the annotation ${ROTATE_CA_ANNOTATIONS[side]} has been removed`, live };
  return undefined;
}
