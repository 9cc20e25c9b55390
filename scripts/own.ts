import { OPERATOR } from "#api/names.ts";

/** Namespace of the operator. */
export const OPERATOR_NAMESPACE = "etcd-operator-system";
/** User name of the operator's ServiceAccount. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${OPERATOR}`;
export const LABELS = { "app.kubernetes.io/name": OPERATOR, "app.kubernetes.io/part-of": OPERATOR };

/**
 * Annotations of the definitions and their policy: Argo CD and Flux neither prune nor delete these objects. Otherwise
 * a second attempt of them would delete all clusters, as the first has deleted the policy.
 * https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/ https://fluxcd.io/flux/components/kustomize/kustomizations/
 */
export const KEPT_BY_GITOPS = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

export type Manifest = Record<string, unknown> & { kind: string; metadata: { name: string; namespace?: string } };

/** Metadata of an object in the operator's own namespace. */
export function own(name: string): Manifest["metadata"] {
  return { name, namespace: OPERATOR_NAMESPACE, labels: LABELS } as Manifest["metadata"];
}
