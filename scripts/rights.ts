import { OPERATOR, TLS_ROLE, WEBHOOKS } from "#api/names.ts";
import {
  CLUSTER_LEASE_NAMESPACE,
  LEASE_PERMISSIONS,
  METRICS_READER_ROLE,
  PERMISSIONS,
  SHARD_PERMISSIONS,
  TLS_PERMISSIONS,
  WEBHOOK_PERMISSIONS,
} from "../src/bin/permissions.ts";
import { LABELS, type Manifest, OPERATOR_NAMESPACE, own } from "./own.ts";

/**
 * ClusterRole that lets administrators of a namespace bind the role for Secrets there. Without it they could not, as
 * that role has rights to cert-manager's Certificates which they may lack:
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
 */
const TLS_BINDER_ROLE = `${TLS_ROLE}-binder`;
const TO_ADMINS = { "rbac.authorization.k8s.io/aggregate-to-admin": "true" };

/** Namespaces in which the operator may read and write Secrets of clusters: all, or those with a RoleBinding for it. */
export type SecretsReach = "everywhere" | "bound";

const RBAC = "rbac.authorization.k8s.io";
const SUBJECTS = [{ kind: "ServiceAccount", name: OPERATOR, namespace: OPERATOR_NAMESPACE }];
const TLS_BINDING = {
  apiVersion: `${RBAC}/v1`,
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: TLS_ROLE },
  subjects: SUBJECTS,
};

/** Binding that lets the operator read and write Secrets of clusters in every namespace. */
export function secretsEverywhere(): Manifest {
  const metadata = { name: TLS_ROLE, labels: LABELS } as Manifest["metadata"];
  return { ...TLS_BINDING, kind: "ClusterRoleBinding", metadata };
}

/**
 * Binding that lets the operator do so in one namespace.
 * @param namespace default: that of the client that applies it
 */
export function secretsIn(namespace?: string): Manifest {
  const metadata = { name: TLS_ROLE, ...(namespace === undefined ? {} : { namespace }), labels: LABELS };
  return { ...TLS_BINDING, kind: "RoleBinding", metadata };
}

/** Roles of the operator, and their bindings. */
export function rights(secrets: SecretsReach): Manifest[] {
  const [rbac, subjects] = [RBAC, SUBJECTS];
  return [
    ...[
      { name: OPERATOR, rules: PERMISSIONS },
      { name: TLS_ROLE, rules: TLS_PERMISSIONS },
      { name: METRICS_READER_ROLE, rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }] },
    ].map(({ name, rules }) => ({
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name, labels: LABELS } as Manifest["metadata"],
      rules,
    })),
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: TLS_BINDER_ROLE, labels: { ...LABELS, ...TO_ADMINS } } as Manifest["metadata"],
      rules: [{ apiGroups: [rbac], resources: ["clusterroles"], resourceNames: [TLS_ROLE], verbs: ["bind"] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: OPERATOR, labels: LABELS } as Manifest["metadata"],
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: OPERATOR },
      subjects,
    },
    ...(secrets === "everywhere" ? [secretsEverywhere()] : []),
    ...[
      { name: `${OPERATOR}-lease`, namespace: OPERATOR_NAMESPACE, rules: [...LEASE_PERMISSIONS, ...SHARD_PERMISSIONS] },
      { name: `${OPERATOR}-lease`, namespace: CLUSTER_LEASE_NAMESPACE, rules: LEASE_PERMISSIONS },
      { name: WEBHOOKS, namespace: OPERATOR_NAMESPACE, rules: WEBHOOK_PERMISSIONS },
    ].flatMap(({ name, namespace, rules }) => {
      const metadata = { ...own(name), namespace };
      return [
        { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules },
        {
          apiVersion: `${rbac}/v1`,
          kind: "RoleBinding",
          metadata,
          roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
          subjects,
        },
      ];
    }),
  ];
}
