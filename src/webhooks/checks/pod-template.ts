import type { OperatorError } from "#base/error.ts";
import { isStatus, type Status } from "#kube/error.ts";
import { type Findings, NO_FINDINGS, type Refusal } from "#webhooks/admission-review.ts";

// The API server itself says what is wrong with a pod, so its words are given back. They speak of the ReplicaSet that the operator
// would make; people have written an EtcdCluster.

/** Where in a ReplicaSet lies what people write in an EtcdCluster; Kubernetes leaves `metadata` out of some paths. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/spec\.template\.spec\.affinity/g, "spec.podTemplate.affinity"],
  [/spec\.template\.spec\.containers(?:\[0\])?\.resources/g, "spec.podTemplate.resources"],
  [/spec\.template\.(?:metadata\.)?annotations/g, "spec.podTemplate.metadata.annotations"],
];
const PLACE = /^spec\.podTemplate\b/;

/**
 * What the refusal of a dry run says of the pod template. What is not about it is nothing that its author could mend: then the edit is
 * let through, with a warning when somebody else (a quota, a policy, a webhook) would refuse the members at this moment.
 */
export function podTemplateFindings(refused: OperatorError): Findings {
  const status = statusIn(refused);
  if (status === undefined || refused.code !== "KubeInvalid") return NO_FINDINGS;
  const message = status.message ?? "";
  const refusals = isOthersWord(message) ? [] : [...invalidFields(status), ...undecodable(status)];
  if (refusals.length > 0) return { refusals, warnings: [] };
  if (isOwnWord(status)) return NO_FINDINGS;
  return { refusals: [], warnings: [`members could not be started at this moment: ${message}`] };
}

function statusIn({ cause }: OperatorError): Status | undefined {
  return isStatus(cause) ? cause : undefined;
}

/** An answer of somebody's webhook or policy, whatever status it has chosen. */
function isOthersWord(message: string): boolean {
  return /^admission webhook |ValidatingAdmissionPolicy|MutatingAdmissionPolicy/.test(message);
}

/** The API server's own validation, which is about nothing but the object. */
function isOwnWord({ reason, message = "" }: Status): boolean {
  return !isOthersWord(message) && (reason === "Invalid" || reason === "BadRequest");
}

/** Values that are not valid, each with its field. */
function invalidFields({ reason, details }: Status): readonly Refusal[] {
  if (reason !== "Invalid") return [];
  return (details?.causes ?? []).flatMap(({ field = "", message = "" }) => {
    const place = asWritten(field);
    return PLACE.test(place) ? [{ field: place, message: asWritten(message) }] : [];
  });
}

/** What is not even of the right form, or has a field that there is none of. The API server names the fields in its sentence. */
function undecodable({ reason, message = "" }: Status): readonly Refusal[] {
  if (reason !== "BadRequest") return [];
  const sentence = asWritten(message.replace(/^.*?cannot be handled as a ReplicaSet: /s, ""));
  const unknown = [...sentence.matchAll(/unknown field "([^"]+)"/g)].map(([, field = ""]) => field);
  if (unknown.length > 0) {
    return unknown
      .filter((field) => PLACE.test(field))
      .map((field) => ({ field, message: "unknown field; a Pod has none of this name" }));
  }
  const [field] = /spec\.podTemplate\b[\w.[\]-]*/.exec(sentence) ?? [];
  return field === undefined ? [] : [{ field, message: sentence }];
}

function asWritten(text: string): string {
  return PLACES.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
}
