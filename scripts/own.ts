import { OPERATOR } from "#api/names.ts";

/** Where the operator runs. */
export const OPERATOR_NAMESPACE = "etcd-operator-system";
/** The account of the operator, as the API server knows it. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${OPERATOR}`;
export const LABELS = { "app.kubernetes.io/name": OPERATOR, "app.kubernetes.io/part-of": OPERATOR };

export type Manifest = Record<string, unknown> & { kind: string; metadata: { name: string; namespace?: string } };

/** What an object in the operator's own namespace is called. */
export function own(name: string): Manifest["metadata"] {
  return { name, namespace: OPERATOR_NAMESPACE, labels: LABELS } as Manifest["metadata"];
}
