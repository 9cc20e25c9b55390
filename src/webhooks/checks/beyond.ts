import { TOO_LARGE } from "#api/beyond.ts";
import { converted, whyNotBeyond } from "#api/conversion.ts";
import { BEYOND_V1ALPHA1_ANNOTATION, GROUP } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Findings, Refusal } from "#webhooks/admission-review.ts";

// What of the annotation is left on an object of v1beta1?
//   Only what no conversion could use: it was written by hand, or stands for what v1alpha1 did not show. Nobody is to bring that.

const FIELD = `metadata.annotations[${BEYOND_V1ALPHA1_ANNOTATION}]`;
const MAY = "leave it as it was read, remove it to drop what only v1beta1 can say, or write v1beta1";
const KIND = "EtcdCluster";

/** What v1alpha1 cannot say, in bytes, until it may not be shown of a member, which has it twice during an update. */
const MANY_BYTES = 100_000;

/** What v1alpha1 could not show, and what has come from there. @param before what was there; undefined for a new cluster */
export function beyondFindings(cluster: EtcdCluster, before: EtcdCluster | undefined): Findings {
  return { refusals: [...refusals(cluster, before)], warnings: sizeWarnings(cluster, before) };
}

function refusals(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly Refusal[] {
  const text = annotationOf(cluster);
  if (text !== undefined && text !== (before && annotationOf(before)))
    return [{ field: FIELD, message: whyNot(text, cluster) }];
  if (!isTooLarge(cluster) || (before !== undefined && isTooLarge(before))) return [];
  const message =
    "is too large beside its annotations: v1alpha1 could not show it, since all that v1beta1 says beyond v1alpha1 must fit with them into 250 KiB";
  return [{ field: "spec", message }];
}

function whyNot(text: string, cluster: EtcdCluster): string {
  if (text === TOO_LARGE)
    return `it is "${TOO_LARGE}": v1alpha1 does not show all that this EtcdCluster says, and would drop the rest; write v1beta1`;
  const { spec } = inAlpha(cluster);
  return `${whyNotBeyond(text, spec, KIND) ?? "it is written by conversions alone"}; ${MAY}`;
}

function sizeWarnings(cluster: EtcdCluster, before: EtcdCluster | undefined): readonly string[] {
  const bytes = bytesBeyond(cluster);
  if (bytes <= MANY_BYTES || (before !== undefined && bytes <= bytesBeyond(before))) return [];
  return [
    `spec says ${Math.round(bytes / 1_000)} kB that v1alpha1 cannot; above ${MANY_BYTES / 1_000} kB members may not be shown as v1alpha1`,
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
