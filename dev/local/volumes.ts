// Decisions of the provisioner, as functions without side effects.

import type { KubeObject } from "./api.ts";
import { NODE_FOLDER } from "./node-config.ts";
import { PROVISIONER } from "./storage.ts";

export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
/** Annotation that the controller manager sets on claims for an external provisioner. */
export const WANTED_OF = "volume.kubernetes.io/storage-provisioner";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
/** Finalizer that keeps a deleted PersistentVolume until its data are erased. */
export const FINALIZER = `${PROVISIONER}`;

export interface Claim extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly volumeMode?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: { readonly storage?: string } };
  };
}

export interface Volume extends KubeObject {
  readonly spec: {
    readonly persistentVolumeReclaimPolicy?: string;
    readonly local?: { readonly path: string };
    readonly nodeAffinity?: unknown;
  };
  readonly status?: { readonly phase?: string };
}

/** Node on which the claim's volume must be made; undefined when none must be made. */
export function nodeToProvisionOn(claim: Claim): string | undefined {
  if (claim.metadata.annotations?.[WANTED_OF] !== PROVISIONER || claim.spec.volumeName !== undefined) return undefined;
  if (claim.metadata.deletionTimestamp !== undefined || claim.spec.volumeMode === "Block") return undefined;
  const node = claim.metadata.annotations?.[SELECTED_NODE];
  return node !== undefined && isNodeName(node) ? node : undefined;
}

/** Whether the name is one of our nodes': names become folder names, so others are refused. */
export function isNodeName(name: string): boolean {
  return /^node-\d+$/.test(name);
}

export function volumeName(claim: Claim): string {
  return `pvc-${claim.metadata.uid}`;
}

/** PersistentVolume for the claim, with a claimRef so that no other claim can take it. */
export function volumeFor(claim: Claim, node: string): Volume & { readonly spec: Record<string, unknown> } {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const inNode = { key: "kubernetes.io/hostname", operator: "In", values: [node] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volumeName(claim), annotations: { [PROVISIONED_BY]: PROVISIONER }, finalizers: [FINALIZER] },
    spec: {
      capacity: { storage: claim.spec.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      volumeMode: "Filesystem",
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: claim.spec.storageClassName ?? "",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion },
      local: { path: `${NODE_FOLDER}/volumes/${volumeName(claim)}` },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inNode] }] } },
    },
  };
}

/** Next action for a volume: none, delete the object, or erase the data and then remove the finalizer. */
export type VolumeFate = "keep" | "delete" | "erase";

export function fateOf(volume: Volume): VolumeFate {
  if (volume.metadata.annotations?.[PROVISIONED_BY] !== PROVISIONER) return "keep";
  if (!volume.metadata.finalizers?.includes(FINALIZER)) return "keep";
  const isUsed = volume.status?.phase === "Bound";
  if (volume.metadata.deletionTimestamp !== undefined) return isUsed ? "keep" : "erase";
  const isReleased = volume.status?.phase === "Released" || volume.status?.phase === "Failed";
  return isReleased && volume.spec.persistentVolumeReclaimPolicy === "Delete" ? "delete" : "keep";
}

/** Node of the volume's data, as `volumeFor` has written it; undefined for another value. */
export function nodeOf(volume: Volume): string | undefined {
  const affinity = volume.spec.nodeAffinity as
    | { required?: { nodeSelectorTerms?: { matchExpressions?: { values?: string[] }[] }[] } }
    | undefined;
  const node = affinity?.required?.nodeSelectorTerms?.[0]?.matchExpressions?.[0]?.values?.[0];
  return node !== undefined && isNodeName(node) ? node : undefined;
}
