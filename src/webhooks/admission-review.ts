import { isMap } from "#base/json.ts";
import { expect, record, text } from "#webhooks/untrusted.ts";

// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response

const API_VERSION = "admission.k8s.io/v1";
const KIND = "AdmissionReview";

/** What the API server asks, as far as it is used. What is in it was checked by nobody here. */
export interface AdmissionRequest {
  readonly uid: string;
  /** Such as `EtcdCluster.v1beta1.etcd.improbable.io`. */
  readonly kind: string;
  /** In which version of the API it was written; it is shown in the one that was asked for. Such as v1alpha1. */
  readonly written: string;
  /** CREATE, UPDATE, DELETE or CONNECT. */
  readonly operation: string;
  /** Null on a deletion. */
  readonly object: unknown;
  /** Null on a creation. */
  readonly oldObject: unknown;
}

/** Why something is refused: the field as people write it, and what is wrong, in words that say what it may be. */
export interface Refusal {
  readonly field: string;
  readonly message: string;
}

/** What is said of an object. Without a refusal it is let through. */
export interface Findings {
  readonly refusals: readonly Refusal[];
  /** Sentences that kubectl shows; legal all the same. */
  readonly warnings: readonly string[];
}

export const NO_FINDINGS: Findings = { refusals: [], warnings: [] };

/** @throws OperatorError InvalidSpec when the body is no AdmissionReview that asks something */
export function admissionRequest(body: unknown): AdmissionRequest {
  const review = record(body, "the body");
  expect("apiVersion", review.apiVersion, API_VERSION);
  expect("kind", review.kind, KIND);
  const request = record(review.request, "request");
  const { group, version, kind } = record(request.kind, "request.kind");
  const { uid, operation, object, oldObject, requestKind } = request;
  return {
    written: String((isMap(requestKind) ? requestKind.version : undefined) ?? version),
    uid: text(uid, "request.uid"),
    kind: `${kind}.${version}.${group}`,
    operation: text(operation, "request.operation"),
    object,
    oldObject,
  };
}

/** The API server cuts each warning off behind so many characters. */
const MAX_WARNING_LENGTH = 256;

/** What a refusal is about; kubectl says it in front of the reasons. */
export interface Subject {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** The answer. @param of is needed for a refusal */
export function admissionReview(uid: string, of: Subject | undefined, { refusals, warnings }: Findings): object {
  const texts = warnings.map((text) =>
    text.length > MAX_WARNING_LENGTH ? `${text.slice(0, MAX_WARNING_LENGTH - 1)}…` : text,
  );
  const response = {
    uid,
    allowed: refusals.length === 0,
    ...(texts.length === 0 ? {} : { warnings: texts }),
    ...(refusals.length === 0 ? {} : { status: statusOf(of, refusals) }),
  };
  return { apiVersion: API_VERSION, kind: KIND, response };
}

/** As the API server itself refuses what its schema forbids. */
function statusOf(of: Subject | undefined, refusals: readonly Refusal[]): object {
  const causes = refusals.map(({ field, message }) => ({ reason: "FieldValueInvalid", field, message }));
  const message = refusals.map((refusal) => `${refusal.field}: ${refusal.message}`).join("; ");
  return { code: 422, reason: "Invalid", message, details: { ...of, causes } };
}
