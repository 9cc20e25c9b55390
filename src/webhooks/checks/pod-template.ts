import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { OperatorError } from "#base/error.ts";
import { isStatus, type Status } from "#kube/error.ts";
import type { Draft, ReplicaSet } from "#kube/kinds.ts";
import { type Findings, NO_FINDINGS, type Refusal } from "#webhooks/admission-review.ts";
import { type Place, placeOf } from "#webhooks/checks/pod-template-place.ts";

// The API server's message about the pod is passed on. It names fields of the ReplicaSet, which are translated to
// fields of the EtcdCluster.

/** A path in a message. */
const PATH = /\bspec\.template\b(?:\.[\w-]+|\[[^\]]*\])*/g;

/** The ReplicaSet of the dry run, and the spec from which it was made. */
interface Trial {
  readonly replicaSet: Draft<ReplicaSet>;
  readonly spec: EtcdClusterSpec;
}

/**
 * Findings from a refused dry run. Problems outside of the pod template are not the user's, so the edit is admitted. A
 * quota, a policy or a webhook that would refuse the members at present results in a warning.
 */
export function podTemplateFindings(refused: OperatorError, trial: Trial): Findings {
  const status = statusIn(refused);
  if (status === undefined || refused.code !== "KubeInvalid") return NO_FINDINGS;
  const message = status.message ?? "";
  const refusals = isFromAdmission(message) ? [] : [...invalidFields(status, trial), ...undecodable(status, trial)];
  if (refusals.length > 0) return { refusals, warnings: [] };
  if (isFromValidation(status)) return NO_FINDINGS;
  return { refusals: [], warnings: [`members could not be started at present: ${message}`] };
}

function statusIn({ cause }: OperatorError): Status | undefined {
  return isStatus(cause) ? cause : undefined;
}

/** Whether the message comes from an admission webhook or policy, with whatever status. */
function isFromAdmission(message: string): boolean {
  return /^admission webhook |ValidatingAdmissionPolicy|MutatingAdmissionPolicy/.test(message);
}

/** Whether the status comes from the API server's own validation of the object. */
function isFromValidation({ reason, message = "" }: Status): boolean {
  return !isFromAdmission(message) && (reason === "Invalid" || reason === "BadRequest");
}

/** Invalid values with their fields. */
function invalidFields({ reason, details }: Status, trial: Trial): readonly Refusal[] {
  if (reason !== "Invalid") return [];
  return (details?.causes ?? []).flatMap(({ field = "", message = "" }) => {
    const place = placeIn(field, trial);
    return place.isTheirs ? [{ field: place.field, message: asWritten(message, trial) }] : [];
  });
}

/** Values of a wrong type and unknown fields. The API server names the fields in its message. */
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
