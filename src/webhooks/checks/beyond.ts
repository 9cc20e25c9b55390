import { TOO_LARGE } from "#api/beyond.ts";
import { converted, whyNotBeyond } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION, GROUP } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Findings, Refusal } from "#webhooks/admission-review.ts";

// When does an object of v1beta1 still have the annotation?
//   Only when no conversion could use it: it was written by hand, or replaces what v1alpha1 could not show. Neither may
//   be stored.

const FIELD = `metadata.annotations[${BEYOND_V1ALPHA1_ANNOTATION}]`;
const MAY = "leave it as it was read, remove it to drop the fields that only v1beta1 has, or write v1beta1";
const KIND = "EtcdCluster";

/**
 * Size in bytes of the fields unknown to v1alpha1 from which a warning is given. A member has them twice during an
 * update, and may not be readable as v1alpha1.
 */
const MANY_BYTES = 100_000;

/**
 * Refuses what v1alpha1 could not show, and warns of what comes near. @param before the stored object; undefined for a
 * new cluster
 */
export function beyondFindings(cluster: EtcdCluster, before: EtcdCluster | undefined): Findings {
  return { refusals: [...refusals(cluster, before)], warnings: sizeWarnings(cluster, before) };
}

function refusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const text = annotationOf(cluster);
  if (text !== undefined && text !== (before && annotationOf(before)))
    return [{ field: FIELD, message: whyNot(text, cluster) }];
  if (!isTooLarge(cluster) || (before !== undefined && isTooLarge(before))) return [];
  const message =
    "is too large: fields that v1alpha1 does not have must fit, together with the annotations, into 250 KiB, or v1alpha1 could not show the object";
  return [{ field: "spec", message }];
}

function whyNot(text: string, cluster: EtcdCluster): string {
  if (text === TOO_LARGE)
    return `it is "${TOO_LARGE}": v1alpha1 does not show all fields of this EtcdCluster, and writing it would drop the rest; write v1beta1`;
  const { spec } = inAlpha(cluster);
  return `${whyNotBeyond(text, spec, KIND) ?? "it is written by conversions alone"}; ${MAY}`;
}

function sizeWarnings(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly string[] {
  const bytes = bytesBeyond(cluster);
  if (bytes <= MANY_BYTES || (before !== undefined && bytes <= bytesBeyond(before))) return [];
  return [
    `spec has ${Math.round(bytes / 1_000)} kB in fields that v1alpha1 does not have; above ${MANY_BYTES / 1_000} kB members may not be readable as v1alpha1`,
  ];
}

function isTooLarge(cluster: EtcdCluster): boolean {
  return annotationOf(cluster) !== TOO_LARGE && annotationOf(inAlpha(cluster)) === TOO_LARGE;
}

function bytesBeyond(cluster: EtcdCluster): number {
  return Buffer.byteLength(annotationOf(inAlpha(cluster)) ?? "");
}

function inAlpha(cluster: EtcdCluster): Pick<EtcdCluster, "metadata" | "spec"> {
  return converted({ ...cluster }, KIND, "v1alpha1", GROUP) as unknown as EtcdCluster;
}

function annotationOf({ metadata }: Pick<EtcdCluster, "metadata">): string | undefined {
  return metadata.annotations?.[BEYOND_V1ALPHA1_ANNOTATION];
}
