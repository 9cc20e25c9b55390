import { OPERATOR } from "#api/names.ts";

/** Namespace of the operator. */
export const OPERATOR_NAMESPACE = "etcd-operator-system";
/** User name of the operator's ServiceAccount. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${OPERATOR}`;
export const LABELS = { "app.kubernetes.io/name": OPERATOR, "app.kubernetes.io/part-of": OPERATOR };

export type Manifest = Record<string, unknown> & { kind: string; metadata: { name: string; namespace?: string } };

/** Metadata of an object in the operator's own namespace. */
export function own(name: string): Manifest["metadata"] {
  return { name, namespace: OPERATOR_NAMESPACE, labels: LABELS } as Manifest["metadata"];
}
