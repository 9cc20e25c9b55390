import type { INamespace, INode, IPersistentVolume } from "kubernetes-models/v1";
import { type ObjectMeta, type Read, resource } from "#kube/kinds.ts";

export { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "#kube/kinds.ts";

// Kinds that tests and benchmarks use, and the operator does not.

export type Node = Read<INode, ObjectMeta>;
export type Namespace = Read<INamespace, ObjectMeta>;
export type PersistentVolume = Read<IPersistentVolume, ObjectMeta>;

const core = { group: "", version: "v1" };
export const NODES = resource<Node>({ ...core, kind: "Node", plural: "nodes", namespaced: false });
export const NAMESPACES = resource<Namespace>({ ...core, kind: "Namespace", plural: "namespaces", namespaced: false });
export const PERSISTENT_VOLUMES = resource<PersistentVolume>({
  ...core,
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
});
