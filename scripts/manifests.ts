import { customResourceDefinitions } from "#api/crd.ts";
import {
  CLUSTER_ADMISSION,
  CLUSTER_ADMISSION_PATH,
  DRY_RUN_ANNOTATION,
  ETCD_REPOSITORY,
  OPERATOR,
  WAIVE_ANNOTATION,
  WEBHOOKS,
} from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { admissionPolicy } from "./admission-policy.ts";
import { conversionPolicy } from "./conversion-policy.ts";
import { definitionsPolicy } from "./definitions-policy.ts";
import { leaseFlow } from "./lease-flow.ts";
import { marksPolicy } from "./marks-policy.ts";
import { KEPT_BY_GITOPS, LABELS, type Manifest, OPERATOR_NAMESPACE, OPERATOR_USER, own } from "./own.ts";
import { peopleRoles } from "./people-roles.ts";
import { rights, type SecretsReach } from "./rights.ts";
import { schedulePolicy } from "./schedule-policy.ts";

export { OPERATOR_NAMESPACE, OPERATOR_USER } from "./own.ts";

const SELECTOR = { "app.kubernetes.io/name": OPERATOR };
const HTTP_PORT = 8080;
const WEBHOOK_PORT = 9443;
const METRICS_PORT = 8443;
/**
 * Replicas of the operator: a leader, and a standby with synced caches that takes over when the lease expires. So a
 * lost node costs seconds. With shards there should be one replica for each.
 */
export const OPERATOR_REPLICAS = 2;
/**
 * Time for which the operator's pods stay bound to a lost node after it is NotReady, in seconds. Kubernetes' default is
 * 300. The other replica leads in that time.
 */
const LOST_NODE_SECONDS = 10;
/** Compute resources of the operator's container. */
export const OPERATOR_RESOURCES = { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } };
/** Time for which a terminating pod still serves, in seconds, until no client sends requests to its webhooks. */
const LEAVING_SECONDS = 3;

/** CustomResourceDefinitions of the operator. */
export function crdManifests(): Manifest[] {
  return (customResourceDefinitions(OPERATOR_NAMESPACE) as unknown as Manifest[]).map(kept);
}

function kept<T extends { readonly metadata: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, annotations: KEPT_BY_GITOPS } };
}

/**
 * All other manifests of the operator: namespace, account, RBAC, admission policies, NetworkPolicy, Deployment.
 * @param image the operator's image, with tag
 * @param secrets where the operator may read and write the Secrets of clusters
 * @param repositories of etcd's images: the first is the operator's default. Jobs with a service account may run images
 *   of every one of them.
 * @param namespaces the only ones that the operator watches, which must exist; undefined: all
 */
export function operatorManifests(
  image: string,
  secrets: SecretsReach = "everywhere",
  repositories: readonly [string, ...string[]] = [ETCD_REPOSITORY],
  namespaces?: readonly string[],
): Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: OPERATOR_NAMESPACE, labels: { ...LABELS, "pod-security.kubernetes.io/enforce": "restricted" } },
    } as Manifest,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: own(OPERATOR) },
    ...rights(secrets, namespaces),
    ...peopleRoles(),
    ...(admissionPolicy(OPERATOR_USER, image, repositories, LABELS) as unknown as Manifest[]),
    ...(conversionPolicy(LABELS) as unknown as Manifest[]),
    ...(marksPolicy(OPERATOR_USER, LABELS) as unknown as Manifest[]),
    ...(definitionsPolicy(LABELS) as unknown as Manifest[]).map(kept),
    ...(schedulePolicy(LABELS) as unknown as Manifest[]),
    leaseFlow(),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: own(OPERATOR),
      // Drains evict one pod after the other. `maxUnavailable`, so that a drain also succeeds with a single replica.
      spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: SELECTOR } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: own(WEBHOOKS),
      spec: { selector: SELECTOR, ports: [{ name: "webhooks", port: 443, targetPort: "webhooks" }] },
    } as unknown as Manifest,
    networkPolicy(),
    webhookConfiguration(namespaces),
    deployment(image, repositories[0], namespaces),
  ];
}

/**
 * NetworkPolicy that opens only the operator's own ports. Sources are not limited: API servers and kubelets have no
 * labels, and different addresses in each cluster. Egress is open, as members, API server and DNS may be anywhere.
 */
function networkPolicy(): Manifest {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: own(OPERATOR),
    spec: {
      podSelector: { matchLabels: SELECTOR },
      policyTypes: ["Ingress"],
      ingress: [WEBHOOK_PORT, METRICS_PORT, HTTP_PORT].map((port) => ({ ports: [{ protocol: "TCP", port }] })),
    },
  };
}

/**
 * Registration of the admission webhook for EtcdClusters. The operator writes its `caBundle`. That field is missing
 * here, so that applying the manifest again keeps it.
 */
function webhookConfiguration(namespaces: readonly string[] | undefined): Manifest {
  const { group, version, plural } = ETCD_CLUSTERS;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: OPERATOR, labels: LABELS } as unknown as Manifest["metadata"],
    webhooks: [
      {
        name: CLUSTER_ADMISSION,
        clientConfig: {
          service: { name: WEBHOOKS, namespace: OPERATOR_NAMESPACE, port: 443, path: CLUSTER_ADMISSION_PATH },
        },
        rules: [
          {
            apiGroups: [group],
            apiVersions: [version],
            resources: [plural, `${plural}/scale`],
            operations: ["CREATE", "UPDATE"],
            scope: "Namespaced",
          },
        ],
        ...(namespaces === undefined ? {} : { namespaceSelector: named(namespaces) }),
        // Checks that protect data are in the schema, so EtcdClusters can be edited while no operator runs.
        failurePolicy: "Ignore",
        matchPolicy: "Equivalent",
        matchConditions: [
          {
            name: "spec",
            expression: ["request.operation == 'CREATE'", "object.spec != oldObject.spec", ...JUDGED.map(isOther)].join(
              " || ",
            ),
          },
          { name: "alive", expression: "!has(object.metadata.deletionTimestamp)" },
        ],
        sideEffects: "NoneOnDryRun",
        timeoutSeconds: 5,
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}

/** Kubernetes sets this label of each namespace. */
function named(namespaces: readonly string[]) {
  return { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: namespaces }] };
}

/** Annotations for the operator that the webhook checks. */
const JUDGED = [DRY_RUN_ANNOTATION, WAIVE_ANNOTATION];

function isOther(annotation: string): string {
  const of = (object: string) => `${object}.metadata.?annotations[?'${annotation}'].orValue('')`;
  return `${of("object")} != ${of("oldObject")}`;
}

function deployment(image: string, repository: string, namespaces: readonly string[] | undefined): Manifest {
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
      replicas: OPERATOR_REPLICAS,
      selector: { matchLabels: SELECTOR },
      template: {
        metadata: {
          labels: LABELS,
          annotations: {
            "prometheus.io/scrape": "true",
            "prometheus.io/scheme": "https",
            "prometheus.io/port": String(METRICS_PORT),
          },
        },
        spec: {
          serviceAccountName: OPERATOR,
          // No priorityClassName: some providers refuse system-cluster-critical outside of kube-system, and no pod
          // would start.
          terminationGracePeriodSeconds: 15,
          affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [otherNode()] } },
          tolerations: ["not-ready", "unreachable"].map((why) => ({
            key: `node.kubernetes.io/${why}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: LOST_NODE_SECONDS,
          })),
          // The image has user 65532. It is not repeated here: OpenShift refuses users outside of the namespace's range.
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              name: "operator",
              image,
              imagePullPolicy: "IfNotPresent",
              args: [
                ...[`--http-port=${HTTP_PORT}`, `--webhook-port=${WEBHOOK_PORT}`, `--metrics-port=${METRICS_PORT}`],
                ...(repository === ETCD_REPOSITORY ? [] : [`--etcd-repository=${repository}`]),
                ...(namespaces === undefined ? [] : [`--watch-namespaces=${namespaces.join(",")}`]),
              ],
              env: [
                { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
                // Image of backup pods, and the only one that the admission policy allows for them.
                { name: "OPERATOR_IMAGE", value: image },
              ],
              ports: [
                { name: "http", containerPort: HTTP_PORT },
                { name: "webhooks", containerPort: WEBHOOK_PORT },
                { name: "metrics", containerPort: METRICS_PORT },
              ],
              lifecycle: { preStop: { sleep: { seconds: LEAVING_SECONDS } } },
              livenessProbe: probe("/healthz"),
              readinessProbe: { ...probe("/readyz"), periodSeconds: 2 },
              resources: OPERATOR_RESOURCES,
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

/**
 * Affinity to another node than the other replica's: preferred, so that one node suffices. The hash excludes pods of an
 * old revision.
 */
function otherNode() {
  return {
    weight: 100,
    podAffinityTerm: {
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: SELECTOR },
      matchLabelKeys: ["pod-template-hash"],
    },
  };
}
