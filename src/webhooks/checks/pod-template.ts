import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { OperatorError } from "#base/error.ts";
import { isStatus, type Status } from "#kube/error.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";
import { type Findings, NO_FINDINGS, type Refusal } from "#webhooks/admission-review.ts";
import { type Place, placeOf } from "#webhooks/checks/pod-template-place.ts";

// The API server itself says what is wrong with a pod, so its words are given back. They speak of the ReplicaSet that the operator
// would make; people have written an EtcdCluster.

/** A path in a sentence. */
const PATH = /\bspec\.template\b(?:\.[\w-]+|\[[^\]]*\])*/g;

/** What was tried, and for whom. */
interface Trial {
  readonly replicaSet: Draft<ReplicaSet>;
  readonly spec: EtcdClusterSpec;
}

/**
 * What the refusal of a dry run says of the pod template. What is not about it is nothing that its author could mend: then the edit is
 * let through, with a warning when somebody else (a quota, a policy, a webhook) would refuse the members at this moment.
 */
export function podTemplateFindings(refused: OperatorError, trial: Trial): Findings {
  const status = statusIn(refused);
  if (status === undefined || refused.code !== "KubeInvalid") return NO_FINDINGS;
  const message = status.message ?? "";
  const refusals = isOthersWord(message) ? [] : [...invalidFields(status, trial), ...undecodable(status, trial)];
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
function invalidFields({ reason, details }: Status, trial: Trial): readonly Refusal[] {
  if (reason !== "Invalid") return [];
  return (details?.causes ?? []).flatMap(({ field = "", message = "" }) => {
    const place = placeIn(field, trial);
    return place.isTheirs ? [{ field: place.field, message: asWritten(message, trial) }] : [];
  });
}

/** What is not even of the right form, or has a field that there is none of. The API server names the fields in its sentence. */
function undecodable({ reason, message = "" }: Status, trial: Trial): readonly Refusal[] {
  if (reason !== "BadRequest") return [];
  const sentence = message.replace(/^.*?cannot be handled as a ReplicaSet: /s, "");
  const unknown = [...sentence.matchAll(/unknown field "([^"]+)"/g)].map(([, field = ""]) => placeIn(field, trial));
  if (unknown.length > 0) {
    return unknown
      .filter(({ isTheirs }) => isTheirs)
      .map(({ field }) => ({ field, message: "unknown field; a Pod has none of this name" }));
  }
  const [path = ""] = sentence.match(PATH) ?? [];
  const place = placeIn(path, trial);
  return place.isTheirs ? [{ field: place.field, message: asWritten(sentence, trial) }] : [];
}

function placeIn(path: string, { replicaSet, spec }: Trial): Place {
  const isTemplates = path.startsWith("spec.template");
  return isTemplates ? placeOf(path, replicaSet, spec) : { field: path, isTheirs: false };
}

function asWritten(text: string, trial: Trial): string {
  return text.replaceAll(PATH, (path) => placeIn(path, trial).field);
}
