import { ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import type { Side } from "#api/tls.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";

/**
 * Longest value that counts, in characters. Half of a character at its end is replaced, as the API server does. It is copied to an annotation of the CA's Secret, where a value of the API
 * server's limit would not fit.
 */
const MAX_WISH_LENGTH = 253;

/**
 * Value that requests a rotation of this side's CA, whether or not it is complete. A completed request stays on record,
 * so the same value requests nothing more.
 */
export function rotationWish({ metadata }: Pick<EtcdCluster, "metadata">, side: Side): string | undefined {
  const value = metadata.annotations?.[ROTATE_CA_ANNOTATIONS[side]]?.slice(0, MAX_WISH_LENGTH).toWellFormed();
  return value === "" ? undefined : value;
}
