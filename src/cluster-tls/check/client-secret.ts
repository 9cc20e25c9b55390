import { isSameSigner } from "#certificates/trust.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import { isUnverified } from "#cluster-tls/read/usable.ts";
import { membersRejecting } from "./trusted.ts";

/**
 * Members that would reject applications after this certificate was published to them, by name.
 * None where clients need no certificate, where the published certificate does not work anyway, or where the same CA
 * signed it.
 * @param facts the certificate that applications have now
 */
export function membersRejectingApplications(
  snapshot: ClusterSnapshot,
  source: SeenCertificate,
  facts: SeenCertificate | undefined,
): readonly string[] {
  const isWorking = facts !== undefined && facts.trouble === undefined && snapshot.takenAtMs < facts.notAfterMs;
  const isSafe = !isWorking || isSameSigner(source, facts) || isUnverified(snapshot, "application");
  return isSafe ? [] : membersRejecting(snapshot, "client", source);
}
