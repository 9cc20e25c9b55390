import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { rotationWish } from "#api/rotation-wish.ts";
import type { Side } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { hasSigned } from "#certificates/trust.ts";
import { whyBindingFormer, whyBindingUntold } from "#cluster/certificates/bindings.ts";
import { leavesOf } from "#cluster/certificates/purposes.ts";
import { notShowing, withoutTrust } from "#cluster/certificates/trusted.ts";
import { authorityOf, usable } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";

// How does one authority follow another one while everybody stays connected?
//   add: the next one is made, unless it is there, and trusted beside the one that signs; members get both, one restart after another.
//   switch: once every member trusts both, the next one signs, and every certificate is made anew by it (due.ts); members get those, one restart
//     after another.
//   drop: once every member has them, the one before is trusted no more; members get that, one restart after another.
//   Towards clients the last two wait for applications, too, by the clock, and for the bindings of EtcdUsers (bindings.ts).
// Why does nobody wait until the kubelet has brought what is new, instead of the second restart?
//   How long that takes is the kubelet's business, and nobody can see it from outside: by what a member dials the others it shows to them alone. Who
//   was made after the Secret was written has it, as a rule, and etcd trusts whom the pod says.
// And who has not?
//   A kubelet that has the Secret for another pod already may give a new one what it knew of it a while ago. So none is dropped before the last pod is
//   as old as that may last.
//   How far it has come is read off the Secrets, EtcdPeers and pods: a process that starts goes on.

export type Phase = "add" | "switch" | "drop" | "forget";

/** An authority is followed by another one so long before its end, in milliseconds: a year. */
const NEXT_BEFORE_MS = 365 * 86_400_000;

interface Due {
  readonly phase: Phase;
  readonly because: string;
  readonly live: SeenCertificate;
  /** What alone is in the way of it. */
  readonly waitsFor?: string | undefined;
  /** Since when all that the cluster itself has is ready for it, in milliseconds since 1970, as far as this process knows. */
  readonly sinceMs?: number;
}

/** What is to be done next about the authority of this side, if anything is. */
export function phaseOf(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const due = dueOn(snapshot, side);
  return due?.waitsFor === undefined ? due : undefined;
}

/**
 * For which applications the next step waits, when it waits for nothing else any more; as a sentence.
 * @param forMs only when what the cluster itself has is ready for it for so long
 */
export function rotationWait(snapshot: ClusterSnapshot, side: Side, forMs = 0): string | undefined {
  const { phase, live, waitsFor, sinceMs = snapshot.takenAtMs } = dueOn(snapshot, side) ?? {};
  if (waitsFor === undefined || snapshot.takenAtMs - sinceMs < forMs) return undefined;
  const what = phase === "switch" ? "the one that is to follow signs" : "the one before is trusted no more";
  return `authority in Secret ${live?.secretName}: before ${what}, ${waitsFor}`;
}

function dueOn(snapshot: ClusterSnapshot, side: Side): Due | undefined {
  const live = authorityOf(snapshot, side);
  if (live === undefined || live.notBeforeMs > snapshot.takenAtMs) return undefined;
  const { cluster } = snapshot;
  const leaves = leavesOf(cluster, side).map((purpose) => usable(snapshot, purpose));
  const { nextId, fingerprint: ownId, trust } = live;
  // Several of its certificates may be trusted, each by the same name and key.
  const isOwn = (leaf: SeenCertificate | undefined) => hasSigned(live, leaf);
  const sinceMs = snapshot.takenAtMs - Math.min(...leaves.map((leaf) => leaf?.knownForMs ?? 0));
  // At its end all would be cut off: whoever is late by then is not waited for, neither before the next one signs nor before that one can be made.
  const isEnding = live.notAfterMs - snapshot.takenAtMs <= NEXT_BEFORE_MS / 2;
  if (nextId !== undefined && !live.trustIds.includes(nextId))
    return { phase: "add", because: "its ca.crt lacks the authority that is to follow", live };
  if (nextId !== undefined) {
    const isReached =
      leaves.every((leaf) => hasReached(snapshot, side, leaf, nextId)) && isTrusted(snapshot, side, nextId);
    if (!isReached) return undefined;
    const waitsFor = side === "peer" || isEnding ? undefined : whyBindingUntold(snapshot, [nextId], sinceMs);
    return { phase: "switch", because: "every member trusts the authority that is to follow", live, waitsFor, sinceMs };
  }
  if (live.trustIds.length > 1) {
    const isReached = leaves.every((leaf) => isOwn(leaf) && hasReached(snapshot, side, leaf, ownId));
    const because = "all that the authority before has signed is replaced";
    // Who was made to show what it signs was made to trust it, too.
    if (!isReached || notShowing(snapshot, side, live).length > 0) return undefined;
    const waitsFor =
      side === "peer" || isEnding
        ? undefined
        : whyBindingFormer(snapshot, (signerId) => hasSigned(live, { signerId, trust }), sinceMs);
    return { phase: "drop", because, live, waitsFor, sinceMs };
  }
  // What is begun has to come to its end: all that it has signed must be as it should be.
  if (!leaves.every(isOwn)) return undefined;
  const asked = rotationWish(snapshot.cluster, side);
  if (asked !== undefined && live.rotatedFor !== asked)
    return { phase: "add", because: `the annotation ${ROTATE_CA_ANNOTATION} asks for another authority`, live };
  if (live.notAfterMs - snapshot.takenAtMs <= NEXT_BEFORE_MS)
    return { phase: "add", because: `the authority ends at ${rfc3339(live.notAfterMs)}`, live };
  if (asked === undefined && live.rotatedFor !== undefined)
    return { phase: "forget", because: `the annotation ${ROTATE_CA_ANNOTATION} has been taken away`, live };
  return undefined;
}

/**
 * Whether the certificate says to trust the authority, and towards clients has said so for as long as applications need. Whom members trust, and what
 * they show, their pods say.
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
  return withoutTrust(snapshot, side, [id]).length === 0;
}
