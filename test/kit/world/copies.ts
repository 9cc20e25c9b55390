import { CLUSTER_LABEL, PEER_LABEL, QUARANTINE_LABEL } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { type Draft, type KubeObject, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from "#kube/kinds.ts";
import type { ApiServer } from "./api.ts";
import type { Kubelets } from "./kubelet.ts";
import type { Random } from "./random.ts";

interface Parts {
  readonly api: ApiServer;
  readonly kubelets: Kubelets;
  readonly random: Random;
  readonly tell: (text: string) => void;
}

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/**
 * A person copies the claims of an EtcdCluster with their volumes, labels and annotations, as backup tools and CSI
 * clones do.
 * @returns the copies; none when there is nothing to copy, or a claim of that name exists
 */
export function copyClaims(
  { api, kubelets, random, tell }: Parts,
  from: Place,
  to: Place,
): readonly PersistentVolumeClaim[] {
  const isThere = ({ metadata }: KubeObject) =>
    metadata.namespace === to.namespace && (metadata.labels?.[CLUSTER_LABEL] ?? metadata.name) === to.name;
  const isTaken = api.list(ETCD_CLUSTERS).some(isThere) || api.list(PERSISTENT_VOLUME_CLAIMS).some(isThere);
  if (isTaken) return [];
  const claims = api
    .list(PERSISTENT_VOLUME_CLAIMS)
    .filter(
      ({ metadata }) =>
        metadata.namespace === from.namespace &&
        metadata.labels?.[CLUSTER_LABEL] === from.name &&
        metadata.labels[QUARANTINE_LABEL] === undefined,
    );
  return claims.flatMap((claim) => {
    const disk = kubelets.disks.get(claim.spec?.volumeName ?? "");
    if (disk?.data === undefined) return [];
    const name = `${to.name}${claim.metadata.name.slice(from.name.length)}`;
    const volumeName = `copy-${random.below(0x100000).toString(36)}-of-${disk.id}`;
    kubelets.disks.set(volumeName, { ...disk, id: volumeName, data: { ...disk.data }, heldBy: undefined });
    const labels = { ...claim.metadata.labels, [CLUSTER_LABEL]: to.name, [PEER_LABEL]: name };
    tell(`a person copies claim ${from.namespace}/${claim.metadata.name} to ${to.namespace}/${name}`);
    const copy = api.create<PersistentVolumeClaim>("person", PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { namespace: to.namespace, name, labels, annotations: claim.metadata.annotations },
      spec: { ...claim.spec, volumeName },
    } as Draft<PersistentVolumeClaim>);
    return [api.update("kubernetes", PERSISTENT_VOLUME_CLAIMS, copy, { status: { phase: "Bound" } })];
  });
}
