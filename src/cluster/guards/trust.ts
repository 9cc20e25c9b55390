import type { Side } from "#api/tls.ts";
import { hasSigned, vouches } from "#certificates/trust.ts";
import { formerTls, issuedTls } from "#cluster/certificates/former.ts";
import { lettingOut } from "#cluster/certificates/handed-out.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { AUTHORITY_OF, leavesOf, SIDES, sideOf } from "#cluster/certificates/purposes.ts";
import { isInUse, leftTrusting, notShowing, withoutBelief, withoutTrust } from "#cluster/certificates/trusted.ts";
import { isUnasked, seen, usable } from "#cluster/certificates/usable.ts";
import { WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";

/**
 * An authority signs nothing that somebody shows before every member trusts it; it is followed by another one only when every member
 * trusts that, and one before it is dropped only when nothing of its is in use.
 */
export const trustedFirst: ClusterGuard = {
  name: "trusted-first",
  forbids(given, step) {
    if (step.do === "issueLeaf") {
      const { purpose, authority, facts } = step;
      const snapshot = issuedTls(keptTls(given), sideOf(purpose));
      const id = authority.fingerprint;
      const isSafe = hasSigned(authority, facts) || isUnasked(snapshot, purpose) || !isInUse(snapshot, purpose);
      return isSafe ? undefined : untrusting(snapshot, sideOf(purpose), id);
    }
    if (step.do === "handOut") {
      return unbelievingText(lettingOut(given, step.source, step.facts), step.source);
    }
    if (step.do !== "rotateAuthority") return undefined;
    const snapshot = keptTls(given);
    const { side, phase, facts } = step;
    if (phase === "switch")
      return facts.nextId === undefined ? "no authority is to follow" : untrusting(snapshot, side, facts.nextId);
    if (phase !== "drop") return undefined;
    const old = leavesOf(snapshot.cluster, side).find((purpose) => !hasSigned(facts, usable(snapshot, purpose)));
    if (old !== undefined) return `the authority before may still vouch for ${WHAT_FOR[old]}`;
    const late = notShowing(snapshot, side, facts);
    if (late.length > 0) return `${late.join(", ")} may still show what the authority before has signed`;
    return untrusting(snapshot, side, facts.fingerprint);
  },
};

/**
 * Nobody stops to trust who vouches for what the operator shows to members, which would lock it out, or for what members show to each other, and no
 * Secret stops to name who has signed what it holds. Nor does anybody begin to ask clients for certificates who would not believe the operator's.
 */
export const trustKept: ClusterGuard = {
  name: "trust-kept",
  forbids(given, step) {
    if (step.do === "spreadTrust") {
      const { authority, facts } = step;
      const isKept = facts.signerId === undefined || vouches(authority.trust, facts);
      return isKept ? undefined : `the ca.crt of Secret ${facts.secretName} would not name who has signed its tls.crt`;
    }
    if (step.do !== "replacePeer") return undefined;
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const [next, before] = [step.peer.spec, step.live.spec].map((spec) => spec?.tls?.[side]?.trust);
      if (next === undefined || before === undefined) continue;
      const lost = inUseOn(snapshot, side).find((facts) => vouches(before, facts) && !vouches(next, facts));
      if (lost !== undefined)
        return `${step.live.metadata.name} would not trust who has signed Secret ${lost.secretName}, which is in use`;
    }
    return whyShutOut(snapshot, step);
  },
};

/** Why a member that comes to ask clients for certificates would not let the operator in. */
function whyShutOut(snapshot: ClusterSnapshot, { live, peer }: Extract<ClusterStep, { do: "replacePeer" }>) {
  const [next, before] = [peer.spec, live.spec].map((spec) => spec?.tls?.client);
  if (next?.verifyClients !== true || before?.verifyClients !== false) return undefined;
  const stranger = inUseOn(snapshot, "client").find((facts) => !vouches(next.trust, facts));
  if (stranger === undefined) return undefined;
  return `${live.metadata.name} would ask for certificates, and not believe Secret ${stranger.secretName}, which the operator shows`;
}

/** What is shown to members: by each other, or by the operator. */
function inUseOn(snapshot: ClusterSnapshot, side: Side): readonly SeenCertificate[] {
  const purpose = side === "peer" ? "peer" : "operator";
  if (isUnasked(snapshot, purpose)) return [];
  return [snapshot, formerTls(snapshot)].flatMap((view) => {
    if (view === undefined || !isInUse(view, purpose)) return [];
    return seen(view, purpose) ?? [];
  });
}

/** Says which members do not trust the authority. */
function untrusting(snapshot: ClusterSnapshot, side: Side, id: string): string | undefined {
  const names = withoutTrust(snapshot, side, [id]);
  return names.length === 0 ? undefined : `${names.join(", ")} would not trust what the authority signs`;
}

/** Says which members would not believe whoever shows it. */
export function unbelieving(snapshot: ClusterSnapshot, side: Side, facts: SeenCertificate): string | undefined {
  return unbelievingText(withoutBelief(snapshot, side, facts), facts);
}

function unbelievingText(names: readonly string[], { secretName }: SeenCertificate): string | undefined {
  return names.length === 0 ? undefined : `${names.join(", ")} would not believe what Secret ${secretName} holds`;
}

/** An authority is made only where there is none, and one that cannot sign is changed by nobody but people, who may have its key. */
export const authorityKept: ClusterGuard = {
  name: "authority-kept",
  forbids(snapshot, step) {
    if (step.do === "issueAuthority") {
      const is = snapshot.certificates?.[AUTHORITY_OF[step.side]]?.is;
      if (is !== "absent") return "the authority may be there";
      const left = leftTrusting(snapshot, step.side);
      return left.size === 0
        ? undefined
        : `${[...left.keys()].join(", ")} would not trust it, whose EtcdPeers are gone`;
    }
    if (step.do !== "rotateAuthority" || step.facts.trouble === undefined) return undefined;
    return `Secret ${step.facts.secretName}: ${step.facts.trouble}`;
  },
};
