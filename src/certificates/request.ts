import type { Certificate } from "#kube/kinds.ts";

// What do the conditions of a cert-manager Certificate mean?
// - Ready is False while the certificate is missing or does not match the request.
// - Issuing is True while it is issued. Afterwards it is absent, or False with the reason Issued.
// - Issuing is False with any other reason when the issuer or an approver refused. cert-manager retries after an hour,
//   then ever more rarely.
// - Only CertificateRequests show that an issuer is missing or does not answer.
//   https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateCondition

type Condition = NonNullable<NonNullable<Certificate["status"]>["conditions"]>[number];

/** How long issuing may take before it is reported, in milliseconds. */
const PATIENCE_MS = 5 * 60_000;

/** Whether issuing failed, or takes longer than it should. @param nowMs milliseconds since 1970 */
export function isOverdue(request: Certificate, nowMs: number): boolean {
  const isSlow = ({ type, status, lastTransitionTime = "" }: Condition) =>
    type === "Issuing" && status === "True" && nowMs - Date.parse(lastTransitionTime) >= PATIENCE_MS;
  return hasFailed(request) || (request.status?.conditions ?? []).some(isSlow);
}

/** Whether issuing failed. */
export function hasFailed({ status }: Certificate): boolean {
  return (status?.conditions ?? []).some(isFailure);
}

function isFailure({ type, status, reason }: Condition): boolean {
  return type === "Issuing" && status === "False" && reason !== "Issued";
}

/** Whether the certificate matches the request, according to cert-manager. */
export function isIssued({ status }: Certificate): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");
}

/** cert-manager's messages about what is missing, and the command that shows more. */
export function requestWords({ metadata, status }: Certificate): string {
  const relevant = (status?.conditions ?? []).filter(
    (each) => isFailure(each) || (each.type === "Ready" ? each.status === "False" : each.status === "True"),
  );
  const words = new Set(relevant.flatMap(({ message }) => message || []));
  const more = `kubectl -n ${metadata.namespace} describe certificaterequests shows more`;
  return words.size === 0 ? more : `cert-manager reports: ${[...words].join("; ")}; ${more}`;
}
