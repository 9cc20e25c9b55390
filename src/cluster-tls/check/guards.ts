import type { MemberTemplate } from "#api/revision.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { vouches } from "#certificates/trust.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { interruptedBy, peerBefore, peerIn, specAfter } from "#cluster/touched.ts";
import { rejectionText } from "#cluster-tls/change/trust-guards.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { observedSecret, previousTls } from "#cluster-tls/effective/previous.ts";
import { SHOWN_ON, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isInTime, isUnverified, isWithheld, seen } from "#cluster-tls/read/usable.ts";
import { membersRejecting, mountedIn, olderThan, REACHED_MS, secretsInUse } from "./trusted.ts";

/**
 * Members get only Secrets that spec.tls requests or the status records as in use. A Secret that neither the operator
 * nor cert-manager fills needs its owner's consent, unless members use it already.
 */
export const allowedSecrets: ClusterGuard = {
  name: "allowed-secrets",
  forbids(given, step) {
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const snapshot = effectiveTls(given);
    for (const side of SIDES) {
      const secretName = peer.spec.tls?.[side]?.secretName;
      if (secretName === undefined || secretsInUse(snapshot, side).has(secretName)) continue;
      if (!isAllowed(snapshot, side, secretName)) return `Secret ${secretName} is not known to be for EtcdClusters`;
    }
    return undefined;
  },
};

/** Whether the Secret is requested, or recorded as in use; and, with provider Secret, whether it may be used. */
function isAllowed(snapshot: ClusterSnapshot, side: Side, secretName: string): boolean {
  const views = [snapshot, previousTls(snapshot)].flatMap((each) => each ?? []);
  const view = views.find(({ cluster }) => secretNameOf(cluster, SHOWN_ON[side]) === secretName);
  if (view === undefined) return false;
  if (providerOf(view.cluster.spec, side) !== "Secret") return true;
  const facts = seen(view, SHOWN_ON[side]);
  // The observation may still be of a Secret that was requested before.
  return facts?.secretName === secretName && isWithheld(view, SHOWN_ON[side], facts) === false;
}

/** A member changes to another Secret only when its certificate is valid and all members trust its CA. */
export const certificateIsTrusted: ClusterGuard = {
  name: "certificate-is-trusted",
  forbids(given, step) {
    const snapshot = effectiveTls(given);
    for (const side of SIDES) {
      const secretName = newSecretOf(snapshot, step, side);
      const found = secretName === undefined ? undefined : observedSecret(snapshot, side, secretName);
      if (secretName === undefined) continue;
      if (found?.is !== "present") return `Secret ${secretName} has not been read`;
      const { trouble } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}: ${trouble}`;
      if (!isInTime(snapshot, found.value))
        return `the certificate in Secret ${secretName} has expired, or is not valid yet`;
      const why = isVerified(snapshot, side) ? rejectionText(snapshot, side, found.value) : undefined;
      if (why !== undefined) return why;
    }
    return undefined;
  },
};

/** Whether members verify this certificate. They verify server certificates too, as their own clients. */
function isVerified(snapshot: ClusterSnapshot, side: Side): boolean {
  return side === "peer" || !isUnverified(snapshot, "operator");
}

/** The Secret that the step gives to a member in place of its previous Secret. */
function newSecretOf(snapshot: ClusterSnapshot, step: ClusterStep, side: Side): string | undefined {
  const next = specAfter(snapshot, step)?.tls?.[side]?.secretName;
  const before = hasTrait(step, "remakesPod", true)
    ? mountedIn(step.pod, side)
    : peerBefore(step)?.spec.tls?.[side]?.secretName;
  return before === undefined || before === next ? undefined : next;
}

/**
 * Forbids to restart or replace a member that could not rejoin. Then some member rejects a peer certificate in use, or
 * a Secret is missing or invalid. Forbids also to replace a member that may seem lost only because its pod lacks the
 * new Secret.
 */
export const membersTrustEachOther: ClusterGuard = {
  name: "members-trust-each-other",
  forbids(given, step) {
    const snapshot = effectiveTls(given);
    const isRestart = interruptedBy(snapshot, step) !== undefined;
    // A recorded removal was checked when it was recorded.
    const isGivenUp = step.do === "markRemoval" && step.removal !== undefined && step.removal !== "scale-down";
    if (!(isRestart || isGivenUp)) return undefined;
    const why = isRestart ? whyNotStarting(snapshot, specAfter(snapshot, step)?.tls) : undefined;
    if (why !== undefined) return why;
    // Secrets that are not in use yet do not count: members trust their CA first.
    for (const secretName of secretsInUse(snapshot, "peer")) {
      const found = observedSecret(snapshot, "peer", secretName);
      // Running members keep the files that they have, and a restart may give them another Secret.
      if (found?.is !== "present") continue;
      const { trouble, knownForMs } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}, the peer certificate of members: ${trouble}`;
      const older = isGivenUp && knownForMs < REACHED_MS ? olderThan(snapshot, "peer", found.value) : [];
      if (older.length > 0) return lateText(secretName, older);
      const names = membersRejecting(snapshot, "peer", found.value);
      if (names.length > 0) return `${names.join(", ")} would not trust the CA of the peer certificates in use`;
    }
    return undefined;
  },
};

function lateText(secretName: string, older: readonly string[]): string {
  const pods = older.length === 1 ? "the pod of" : "the pods of";
  return `${pods} ${older.join(", ")} may not have the new peer certificate of Secret ${secretName} yet: the kubelet takes up to ${REACHED_MS / 1_000} s`;
}

const TO_SHOW = {
  peer: "its peer certificate",
  client: "its server certificate",
} as const;

/**
 * Why the member would not start with its next certificates. A bad peer certificate also matters to the other members.
 */
function whyNotStarting(snapshot: ClusterSnapshot, next: MemberTemplate["tls"]): string | undefined {
  for (const side of SIDES) {
    const { secretName, trust } = next?.[side] ?? {};
    if (secretName === undefined || trust === undefined) continue;
    const found = observedSecret(snapshot, side, secretName);
    const subject = `Secret ${secretName}, ${TO_SHOW[side]}`;
    if (found?.is === "absent") return `${subject}, is missing: its pod would not start`;
    if (found?.is !== "present") continue;
    if (found.value.trouble !== undefined) return `${subject}: ${found.value.trouble}`;
    // The kubelet's probes use the server certificate.
    if (!vouches(trust, found.value)) return `${subject}, is signed by a CA that the member itself would not trust`;
  }
  return undefined;
}
