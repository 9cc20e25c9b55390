import type { ROTATE_CA_ANNOTATIONS, ROTATE_CREDENTIALS_ANNOTATION } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { KubeObject } from "#kube/kinds.ts";

type RotationAnnotation = (typeof ROTATE_CA_ANNOTATIONS)[Side] | typeof ROTATE_CREDENTIALS_ANNOTATION;

/**
 * Longest value that counts, in characters. Half of a character at its end is replaced, as the API server does. It is
 * copied to an annotation of a Secret, where a value of the API server's limit would not fit.
 */
const MAX_LENGTH = 253;

/**
 * Value with which a user requests a rotation, whether or not it is complete. A completed request stays on record, so
 * the same value requests nothing more.
 * @returns `undefined` without the annotation, or with an empty one: templates write an unset value as an empty one
 */
export function rotationRequest(
  { metadata }: Pick<KubeObject, "metadata">,
  annotation: RotationAnnotation,
): string | undefined {
  const value = metadata.annotations?.[annotation]?.slice(0, MAX_LENGTH).toWellFormed();
  return value === "" ? undefined : value;
}
