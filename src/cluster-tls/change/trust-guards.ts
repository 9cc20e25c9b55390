import type { Side } from "#api/tls.ts";
import type { EtcdPeer, EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import { hasSigned, vouches } from "#certificates/trust.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";
import { peerBefore, peerIn } from "#cluster/touched.ts";
import { membersRejectingApplications } from "#cluster-tls/check/client-secret.ts";
import {
  isInUse,
  leftTrusting,
  membersRejecting,
  membersUsingOtherCa,
  membersWithoutCa,
} from "#cluster-tls/check/trusted.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { issuedTls, previousTls } from "#cluster-tls/effective/previous.ts";
import { AUTHORITY_OF, leavesOf, SIDES, sideOf } from "#cluster-tls/read/purposes.ts";
import { isUnverified, seen, usable } from "#cluster-tls/read/usable.ts";
import { WHAT_FOR } from "#cluster-tls/read/words.ts";

/**
 * A CA signs a certificate that is in use only once every member trusts the CA. Its successor signs only once every
 * member trusts it. The old CA is dropped only when none of its certificates is in use.
 */
export const trustedFirst: ClusterGuard = {
  name: "trusted-first",
  forbids(given, step) {
    if (step.do === "issueLeaf") {
      const { purpose, authority, facts } = step;
      const snapshot = issuedTls(effectiveTls(given), sideOf(purpose));
      const id = authority.fingerprint;
      const isSafe = hasSigned(authority, facts) || isUnverified(snapshot, purpose) || !isInUse(snapshot, purpose);
      return isSafe ? undefined : untrusting(snapshot, sideOf(purpose), id);
    }
    if (step.do === "publishClientSecret") {
      return rejectedByText(membersRejectingApplications(given, step.source, step.facts), step.source);
    }
    if (step.do !== "rotateAuthority") return undefined;
    const snapshot = effectiveTls(given);
    const { side, phase, facts } = step;
    if (phase === "switch")
      return facts.nextId === undefined ? "there is no next CA" : untrusting(snapshot, side, facts.nextId);
    if (phase !== "drop") return undefined;
    const old = leavesOf(snapshot.cluster, side).find((purpose) => !hasSigned(facts, usable(snapshot, purpose)));
    if (old !== undefined) return `the old CA may still be the signer of ${WHAT_FOR[old]}`;
    const late = membersUsingOtherCa(snapshot, side, facts);
    if (late.length > 0) return `${late.join(", ")} may still use a certificate of the old CA`;
    return untrusting(snapshot, side, facts.fingerprint);
  },
};

/**
 * No member loses trust in the CA of a certificate in use: the operator's client certificate, or a peer certificate. No
 * Secret drops the CA that signed its own certificate from ca.crt.
 * No member starts to require client certificates while it would reject the operator's.
 */
export const trustKept: ClusterGuard = {
  name: "trust-kept",
  forbids(given, step) {
    if (step.do === "spreadTrust") {
      const { authority, facts } = step;
      const isKept = facts.signerId === undefined || vouches(authority.trust, facts);
      return isKept ? undefined : `the ca.crt of Secret ${facts.secretName} would lack the CA that signed its tls.crt`;
    }
    const live = peerBefore(step);
    if (live === undefined) return undefined;
    const snapshot = effectiveTls(given);
    const spec = peerIn(step)?.spec;
    for (const side of SIDES) {
      const [next, before] = [spec, live.spec].map((each) => each?.tls?.[side]?.trust);
      if (next === undefined || before === undefined) continue;
      const lost = inUseOn(snapshot, side).find((facts) => vouches(before, facts) && !vouches(next, facts));
      if (lost !== undefined)
        return `${live.metadata.name} would not trust the CA that signed the certificate in Secret ${lost.secretName}, which is in use`;
    }
    return whyOperatorRejected(snapshot, live, spec);
  },
};

/** Why a member that starts to require client certificates would reject the operator. */
function whyOperatorRejected(snapshot: ClusterSnapshot, live: EtcdPeer, spec: EtcdPeerSpec | undefined) {
  const [next, before] = [spec, live.spec].map((each) => each?.tls?.client);
  if (next?.clientCertificates !== "Required" || before?.clientCertificates !== "NotRequired") return undefined;
  const rejected = inUseOn(snapshot, "client").find((facts) => !vouches(next.trust, facts));
  if (rejected === undefined) return undefined;
  return `${live.metadata.name} would require client certificates and reject the operator's, in Secret ${rejected.secretName}`;
}

/** The certificates that members verify on this side: those of other members, or the operator's. */
function inUseOn(snapshot: ClusterSnapshot, side: Side): readonly SeenCertificate[] {
  const purpose = side === "peer" ? "peer" : "operator";
  if (isUnverified(snapshot, purpose)) return [];
  return [snapshot, previousTls(snapshot)].flatMap((view) => {
    if (view === undefined || !isInUse(view, purpose)) return [];
    return seen(view, purpose) ?? [];
  });
}

/** The message that names the members that do not trust the CA. `undefined` when all do. */
function untrusting(snapshot: ClusterSnapshot, side: Side, id: string): string | undefined {
  const names = membersWithoutCa(snapshot, side, [id]);
  return names.length === 0 ? undefined : `${names.join(", ")} would not trust certificates of this CA`;
}

/** The message that names the members that reject the certificate. `undefined` when all accept it. */
export function rejectionText(snapshot: ClusterSnapshot, side: Side, facts: SeenCertificate): string | undefined {
  return rejectedByText(membersRejecting(snapshot, side, facts), facts);
}

function rejectedByText(names: readonly string[], { secretName }: SeenCertificate): string | undefined {
  return names.length === 0
    ? undefined
    : `${names.join(", ")} would not trust the CA that signed the certificate in Secret ${secretName}`;
}

/** A CA is created only where there is none. A CA that cannot sign is left to users: they may have its key. */
export const authorityKept: ClusterGuard = {
  name: "authority-kept",
  forbids(snapshot, step) {
    if (step.do === "issueAuthority") {
      const is = snapshot.certificates?.[AUTHORITY_OF[step.side]]?.is;
      if (is !== "absent") return "the CA may exist already";
      const left = leftTrusting(snapshot, step.side);
      return left.size === 0
        ? undefined
        : `${[...left.keys()].join(", ")} would not trust it: their EtcdPeers are gone, and their pods run`;
    }
    if (step.do !== "rotateAuthority" || step.facts.trouble === undefined) return undefined;
    return `Secret ${step.facts.secretName}: ${step.facts.trouble}`;
  },
};
