import { isSameSigner } from "#certificates/trust.ts";
import { withoutBelief } from "#cluster/certificates/trusted.ts";
import { isUnasked } from "#cluster/certificates/usable.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";

/**
 * Members that would let applications in no more which come to show this, by name. Nobody, where nobody is asked for it, or where they have had nothing
 * that works, or what the same authority has signed: what they have is believed as little.
 * @param facts what they have by now
 */
export function lettingOut(
  snapshot: ClusterSnapshot,
  source: SeenCertificate,
  facts: SeenCertificate | undefined,
): readonly string[] {
  const isWorking = facts !== undefined && facts.trouble === undefined && snapshot.takenAtMs < facts.notAfterMs;
  const isSafe = !isWorking || isSameSigner(source, facts) || isUnasked(snapshot, "application");
  return isSafe ? [] : withoutBelief(snapshot, "client", source);
}
