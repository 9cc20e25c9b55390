import { OPERATOR, TLS_ROLE, WEBHOOKS } from "#api/names.ts";
import {
  CLUSTER_LEASE_NAMESPACE,
  CLUSTER_PERMISSIONS,
  LEASE_PERMISSIONS,
  METRICS_READER_ROLE,
  NAMESPACED_PERMISSIONS,
  PERMISSIONS,
  type Permission,
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

/** Namespaces in which the operator may read and write Secrets of clusters: all that it watches, or those with a RoleBinding for it. */
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

/** A Role of the operator and its binding, in one namespace. */
function roleIn(namespace: string, name: string, rules: readonly Permission[]): Manifest[] {
  const metadata = { ...own(name), namespace };
  const roleRef = { apiGroup: RBAC, kind: "Role", name };
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects: SUBJECTS },
  ];
}

/**
 * Roles of the operator, and their bindings.
 * @param namespaces the only ones that the operator watches; undefined: all
 */
export function rights(secrets: SecretsReach, namespaces?: readonly string[]): Manifest[] {
  const [rbac, subjects] = [RBAC, SUBJECTS];
  const everywhere = namespaces === undefined ? [secretsEverywhere()] : namespaces.map((each) => secretsIn(each));
  return [
    ...[
      { name: OPERATOR, rules: namespaces === undefined ? PERMISSIONS : CLUSTER_PERMISSIONS },
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
    ...(namespaces ?? []).flatMap((namespace) => roleIn(namespace, OPERATOR, NAMESPACED_PERMISSIONS)),
    ...(secrets === "everywhere" ? everywhere : []),
    ...roleIn(OPERATOR_NAMESPACE, `${OPERATOR}-lease`, [...LEASE_PERMISSIONS, ...SHARD_PERMISSIONS]),
    ...roleIn(CLUSTER_LEASE_NAMESPACE, `${OPERATOR}-lease`, LEASE_PERMISSIONS),
    ...roleIn(OPERATOR_NAMESPACE, WEBHOOKS, WEBHOOK_PERMISSIONS),
  ];
}
