import { trustConfigMapName } from "#api/names.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { rotationWait } from "#cluster-tls/change/ca-rotation.ts";
import { providerChangeText } from "#cluster-tls/change/progress.ts";
import { effectiveTls } from "#cluster-tls/effective/effective.ts";
import { previousProblems } from "#cluster-tls/effective/previous-problems.ts";
import { renewalTroubles } from "#cluster-tls/issue/renewal.ts";
import { purposesOf, SIDES } from "#cluster-tls/read/purposes.ts";
import { seen } from "#cluster-tls/read/usable.ts";
import { certificateProblem, revokedProblem } from "./certificate-problem.ts";
import { graveText } from "./late.ts";

/**
 * The condition TLSReady: whether all certificates exist, are valid, and are trusted by members. Only for clusters with
 * TLS; after TLS was turned off it reports that.
 */
export function tlsReady({ snapshot: given, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const snapshot = effectiveTls(given);
  const purposes = purposesOf(snapshot.cluster);
  if (purposes.length === 0) return disabled(given);
  // Certificates in use come before requested ones.
  const wrong = [
    ...previousProblems(snapshot),
    ...purposes.flatMap((purpose) => certificateProblem(snapshot, purpose) ?? []),
  ];
  const revoked = revokedProblem(snapshot);
  const problems = revoked === undefined ? wrong : [...wrong, revoked];
  const refused = plan.reports?.find(({ rule, is }) => MAKERS.has(rule) && is === "refused");
  if (refused !== undefined && problems.length > 0) {
    const right = missingRightText(refused.because);
    return {
      status: "False",
      reason: right === undefined ? "StepRefused" : "RightMissing",
      message: `${refused.rule}: ${right ?? refused.because}`,
    };
  }
  // A known problem counts more than something that could not be read.
  const first =
    problems.find(({ needsUser }) => needsUser) ?? problems.find(({ status }) => status === "False") ?? problems[0];
  const change = providerChangeText(snapshot);
  const late = graveText(snapshot);
  if (first === undefined && late !== undefined)
    return { status: "False", reason: "CertificateEnding", message: [late, change ?? []].flat().join("; ") };
  if (first === undefined && change !== undefined)
    return { status: "False", reason: "CertificatesChanging", message: change };
  if (first === undefined) return { status: "True", reason: "CertificatesValid", message: endsText(snapshot) };
  const alike = problems.filter(({ status }) => status === first.status);
  return {
    status: first.status,
    reason: first.reason,
    message: [...new Set(alike.map(({ message }) => message))].join("; "),
  };
}

/** The condition after TLS was turned off: without it the last one would stay forever. */
function disabled({ cluster }: ClusterSnapshot): Verdict | undefined {
  const { deletionTimestamp, name } = cluster.metadata;
  const wasReported = cluster.status?.conditions?.some(({ type }) => type === "TLSReady") ?? false;
  if (deletionTimestamp !== undefined || !wasReported) return undefined;
  const left = `the operator deletes no Secret: you may delete those that it created, and ConfigMap ${trustConfigMapName(name)}`;
  return { status: "True", reason: "TLSDisabled", message: `no member uses TLS any more; ${left}` };
}

const MAKERS = new Set(["issue-ca", "issue-certificate", "certificate-request", "publish-client-secret", "rotate-ca"]);

function endsText(snapshot: ClusterSnapshot): string {
  const all = purposesOf(snapshot.cluster).flatMap((purpose) => seen(snapshot, purpose) ?? []);
  const [first] = all.toSorted((a, b) => a.notAfterMs - b.notAfterMs);
  const good = `${all.length} certificates are valid; the first to expire, in Secret ${first?.secretName}, does so at ${rfc3339(first?.notAfterMs ?? 0)}`;
  const waits = SIDES.flatMap((side) => rotationWait(snapshot, side) ?? []);
  return [good, ...waits, ...renewalTroubles(snapshot)].join("; ");
}
