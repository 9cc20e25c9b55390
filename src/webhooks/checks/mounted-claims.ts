import { CLUSTER_LABEL } from "#api/names.ts";
import { itemsOf, mapIn } from "#api/pod-template/reserved-field.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why is it asked here, and not told by the name alone?
//   By its name a claim of this cluster's own members is told, wherever the template is judged. Another cluster may have any name.

/** Whether the pod template mounts a claim by its name. */
export function mountsClaims(cluster: EtcdCluster): boolean {
  return mountsOf(cluster).length > 0;
}

/**
 * Claims of members, also of other clusters: whoever else writes there destroys their data.
 * @param claims that the operator manages, in the namespace of the cluster
 */
export function mountedClaimRefusals(
  cluster: EtcdCluster,
  claims: readonly PersistentVolumeClaim[],
): readonly Refusal[] {
  return mountsOf(cluster).flatMap(({ field, name }) => {
    const labels = claims.find(({ metadata }) => metadata.name === name)?.metadata.labels;
    if (labels === undefined) return [];
    const message = `is "${name}"; it must be another one: this is the claim of a member of ${labels[CLUSTER_LABEL]}, and whoever else writes there destroys its data`;
    return [{ field, message }];
  });
}

function mountsOf({ spec }: EtcdCluster): readonly { readonly field: string; readonly name: string }[] {
  const pod = mapIn({ value: { ...spec.podTemplate }, field: "spec.podTemplate" }, "spec");
  return itemsOf(pod, "volumes").flatMap((volume) => {
    const { value, field } = mapIn(volume, "persistentVolumeClaim");
    return typeof value.claimName === "string" ? [{ field: `${field}.claimName`, name: value.claimName }] : [];
  });
}
