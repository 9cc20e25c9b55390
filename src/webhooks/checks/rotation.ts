import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { ROTATION_WISHES, sidesAsked } from "#api/rotation-wish.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { told } from "#base/json.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

/**
 * Refuses values of the rotate annotation that request no rotation. @param before the stored object; undefined for a
 * new cluster
 */
export function rotationRefusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const [words, known] = [cluster, before].map((each) => each?.metadata.annotations?.[ROTATE_CA_ANNOTATION]);
  if (words === undefined || words === known || sidesAsked(words).length > 0) return [];
  const message = `it is ${told(words)}; it must be ${ROTATION_WISHES}`;
  return [{ field: `metadata.annotations[${ROTATE_CA_ANNOTATION}]`, message }];
}
