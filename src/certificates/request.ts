import type { Certificate } from "#kube/kinds.ts";

// What does cert-manager say of what it is asked for?
//   Ready is False while the certificate is not there, or is not what is asked for. Issuing is True while it is made. It is gone when that is done
//   (or False for the reason Issued), and False for whatever other reason the issuer gave, or who has to approve, when it could not be done: it is
//   tried again after an hour, and later and later. Who hinders an issuer that is not there, or does not answer, only CertificateRequests tell.
//   https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateCondition

type Condition = NonNullable<NonNullable<Certificate["status"]>["conditions"]>[number];

/** How long it may take before people are told of it, in milliseconds. */
const PATIENCE_MS = 5 * 60_000;

/** Whether it has been tried, and could not be done, or takes longer than it should. @param nowMs milliseconds since 1970 */
export function isOverdue(request: Certificate, nowMs: number): boolean {
  const isSlow = ({ type, status, lastTransitionTime = "" }: Condition) =>
    type === "Issuing" && status === "True" && nowMs - Date.parse(lastTransitionTime) >= PATIENCE_MS;
  return hasFailed(request) || (request.status?.conditions ?? []).some(isSlow);
}

/** Whether it has been tried, and could not be done. */
export function hasFailed({ status }: Certificate): boolean {
  return (status?.conditions ?? []).some(isFailure);
}

function isFailure({ type, status, reason }: Condition): boolean {
  return type === "Issuing" && status === "False" && reason !== "Issued";
}

/** Whether what is there is what was asked for, by cert-manager's word. */
export function isIssued({ status }: Certificate): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");
}

/** cert-manager's own words for what is not done, the first of its conditions first; and where there are more of them. */
export function requestWords({ metadata, status }: Certificate): string {
  const told = (status?.conditions ?? []).filter(
    (each) => isFailure(each) || (each.type === "Ready" ? each.status === "False" : each.status === "True"),
  );
  const words = new Set(told.flatMap(({ message }) => message || []));
  const more = `kubectl -n ${metadata.namespace} describe certificaterequests tells more`;
  return words.size === 0 ? more : `cert-manager says: ${[...words].join("; ")}; ${more}`;
}
