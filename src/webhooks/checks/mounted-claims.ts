import { CLUSTER_LABEL } from "#api/names.ts";
import { itemsOf, mapIn } from "#api/pod-template/reserved-field.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { PersistentVolumeClaim } from "#kube/kinds.ts";
import type { Refusal } from "#webhooks/admission-review.ts";

// Why does this need a request to the API server?
//   Claims of the cluster's own members are recognized by their names, wherever the template is checked. Another
//   cluster may have any name.

/** Whether the pod template mounts a claim by name. */
export function mountsClaims(cluster: EtcdCluster): boolean {
  return mountsOf(cluster).length > 0;
}

/**
 * Refuses to mount claims of members, also of other clusters: another writer would destroy their data.
 * @param claims the operator's claims in the namespace of the cluster
 */
export function mountedClaimRefusals(
  cluster: EtcdCluster,
  claims: readonly PersistentVolumeClaim[],
): readonly Refusal[] {
  return mountsOf(cluster).flatMap(({ field, name }) => {
    const labels = claims.find(({ metadata }) => metadata.name === name)?.metadata.labels;
    if (labels === undefined) return [];
    const message = `is "${name}"; it must be another claim: this one belongs to a member of ${labels[CLUSTER_LABEL]}, and another writer would destroy its data`;
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
