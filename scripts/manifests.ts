import { customResourceDefinitions } from "#api/crd.ts";
import { OPERATOR } from "#api/names.ts";
import { LEASE_PERMISSIONS, PERMISSIONS } from "../src/bin/permissions.ts";

/** Where the operator runs. */
export const OPERATOR_NAMESPACE = "etcd-operator-system";
const LABELS = { "app.kubernetes.io/name": OPERATOR, "app.kubernetes.io/part-of": OPERATOR };
const HTTP_PORT = 8080;

type Manifest = Record<string, unknown> & { kind: string; metadata: { name: string; namespace?: string } };

/** The CustomResourceDefinitions, one object each. */
export function crdManifests(): Manifest[] {
  return customResourceDefinitions() as unknown as Manifest[];
}

/**
 * Everything else that installs the operator: namespace, account, rights and Deployment.
 * @param image the operator's image, with tag
 */
export function operatorManifests(image: string): Manifest[] {
  const subjects = [{ kind: "ServiceAccount", name: OPERATOR, namespace: OPERATOR_NAMESPACE }];
  const rbac = "rbac.authorization.k8s.io";
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: OPERATOR_NAMESPACE, labels: { ...LABELS, "pod-security.kubernetes.io/enforce": "restricted" } },
    } as Manifest,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: own(OPERATOR) },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: OPERATOR, labels: LABELS } as Manifest["metadata"],
      rules: PERMISSIONS,
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: OPERATOR, labels: LABELS } as Manifest["metadata"],
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: OPERATOR },
      subjects,
    },
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: own(`${OPERATOR}-lease`), rules: LEASE_PERMISSIONS },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: own(`${OPERATOR}-lease`),
      roleRef: { apiGroup: rbac, kind: "Role", name: `${OPERATOR}-lease` },
      subjects,
    },
    deployment(image),
  ];
}

function own(name: string): Manifest["metadata"] {
  return { name, namespace: OPERATOR_NAMESPACE, labels: LABELS } as Manifest["metadata"];
}

function deployment(image: string): Manifest {
  const probe = (path: string) => ({
    httpGet: { path, port: "http" },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 3,
  });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: own(OPERATOR),
    spec: {
      // Two would only wait for each other's lease; a Deployment starts a lost one again within seconds.
      replicas: 1,
      selector: { matchLabels: { "app.kubernetes.io/name": OPERATOR } },
      template: {
        metadata: {
          labels: LABELS,
          annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": String(HTTP_PORT) },
        },
        spec: {
          serviceAccountName: OPERATOR,
          terminationGracePeriodSeconds: 15,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [
            {
              name: "operator",
              image,
              imagePullPolicy: "IfNotPresent",
              args: [`--http-port=${HTTP_PORT}`],
              env: [{ name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } }],
              ports: [{ name: "http", containerPort: HTTP_PORT }],
              livenessProbe: probe("/healthz"),
              readinessProbe: { ...probe("/readyz"), periodSeconds: 2 },
              resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] },
              },
            },
          ],
        },
      },
    },
  } as unknown as Manifest;
}
