import { isSameSigner } from "#certificates/trust.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { isUnasked } from "#cluster-tls/read/usable.ts";
import { withoutBelief } from "./trusted.ts";

/**
 * Members that would reject applications after this certificate was published to them, by name.
 * None where clients need no certificate, where the published certificate does not work anyway, or where the same CA
 * signed it.
 * @param facts the certificate that applications have now
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
