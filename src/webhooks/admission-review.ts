import { isMap, quoted } from "#base/json.ts";
import { expect, invalid, record, text } from "#webhooks/untrusted.ts";

// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response

const API_VERSION = "admission.k8s.io/v1";
const KIND = "AdmissionReview";

/** The used fields of an AdmissionReview's request. The object in it is not validated. */
export interface AdmissionRequest {
  readonly uid: string;
  /** Such as `EtcdCluster.v1beta1.etcd.improbable.io`. */
  readonly kind: string;
  /** The API version in which it was written, such as v1alpha1; it is sent in the version that the webhook asks for. */
  readonly written: string;
  /** CREATE, UPDATE, DELETE or CONNECT. */
  readonly operation: string;
  /** Null for a deletion. */
  readonly object: unknown;
  /** Null for a creation. */
  readonly oldObject: unknown;
}

/** Why an object is refused: the field as in the user's YAML, and what is wrong and allowed. */
export interface Refusal {
  readonly field: string;
  readonly message: string;
}

/** Result of the checks of an object. Without a refusal it is admitted. */
export interface Findings {
  readonly refusals: readonly Refusal[];
  /** Sentences that kubectl shows; the object is admitted anyway. */
  readonly warnings: readonly string[];
}

export const NO_FINDINGS: Findings = { refusals: [], warnings: [] };

/** @throws OperatorError InvalidSpec when the body is not an AdmissionReview with a request */
export function admissionRequest(body: unknown): AdmissionRequest {
  const review = record(body, "the body");
  expect("apiVersion", review.apiVersion, API_VERSION);
  expect("kind", review.kind, KIND);
  const request = record(review.request, "request");
  const { group, version, kind } = record(request.kind, "request.kind");
  for (const part of [group, version, kind])
    if (typeof part !== "string") throw invalid(`request.kind has ${quoted(part)}; it must have texts`);
  const { uid, operation, object, oldObject, requestKind } = request;
  const written = isMap(requestKind) && typeof requestKind.version === "string" ? requestKind.version : version;
  return {
    written: String(written),
    uid: text(uid, "request.uid"),
    kind: `${kind}.${version}.${group}`,
    operation: text(operation, "request.operation"),
    object,
    oldObject,
  };
}

/** Length in characters at which the API server truncates a warning. */
const MAX_WARNING_LENGTH = 256;

/** Refusals reported at once: after fixing these the user sees the next ones. */
const MAX_REFUSALS = 20;
/** Length in characters at which a message is truncated: it may quote its input, which may be 1.5 MiB long. */
const MAX_MESSAGE_LENGTH = 2_000;

/** The refusals, limited in number and length. */
export function limitedRefusals(refusals: readonly Refusal[]): readonly Refusal[] {
  const reported = refusals
    .slice(0, MAX_REFUSALS)
    .map(({ field, message }) => ({ field, message: cut(message, MAX_MESSAGE_LENGTH) }));
  const left = refusals.length - reported.length;
  const more = { field: "spec", message: `has ${left} more errors; correct those above to see them` };
  return left > 0 ? [...reported, more] : reported;
}

function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** The object of a refusal; kubectl prints it before the reasons. */
export interface Subject {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** The AdmissionReview with the response. @param of is needed for a refusal */
export function admissionReview(uid: string, of: Subject | undefined, { refusals, warnings }: Findings): object {
  const texts = warnings.slice(0, MAX_REFUSALS).map((text) => cut(text, MAX_WARNING_LENGTH));
  const response = {
    uid,
    allowed: refusals.length === 0,
    ...(texts.length === 0 ? {} : { warnings: texts }),
    ...(refusals.length === 0 ? {} : { status: statusOf(of, refusals) }),
  };
  return { apiVersion: API_VERSION, kind: KIND, response };
}

/** A status like the API server's own for an object that violates its schema. */
function statusOf(of: Subject | undefined, refusals: readonly Refusal[]): object {
  const causes = refusals.map(({ field, message }) => ({ reason: "FieldValueInvalid", field, message }));
  const message = refusals.map((refusal) => `${refusal.field}: ${refusal.message}`).join("; ");
  return { code: 422, reason: "Invalid", message, details: { ...of, causes } };
}
