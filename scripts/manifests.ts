import { customResourceDefinitions } from "#api/crd.ts";
import {
  CLUSTER_ADMISSION,
  CLUSTER_ADMISSION_PATH,
  DRY_RUN_ANNOTATION,
  OPERATOR,
  ROTATE_CA_ANNOTATION,
  WAIVE_ANNOTATION,
  WEBHOOKS,
} from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { admissionPolicy } from "./admission-policy.ts";
import { conversionPolicy } from "./conversion-policy.ts";
import { leaseFlow } from "./lease-flow.ts";
import { marksPolicy } from "./marks-policy.ts";
import { LABELS, type Manifest, OPERATOR_NAMESPACE, OPERATOR_USER, own } from "./own.ts";
import { rights, type SecretsReach } from "./rights.ts";

export { OPERATOR_NAMESPACE, OPERATOR_USER } from "./own.ts";

const SELECTOR = { "app.kubernetes.io/name": OPERATOR };
const HTTP_PORT = 8080;
const WEBHOOK_PORT = 9443;
const METRICS_PORT = 8443;
/** One acts, the other has read everything and takes over when the lease ends: a lost node costs seconds. Who asks for shards has one for each. */
export const OPERATOR_REPLICAS = 2;
/**
 * How long pods stay bound to a node that is lost, in seconds, after Kubernetes has called it so; its default is 300. One
 * operator is left all the while, and acts.
 */
const LOST_NODE_SECONDS = 10;
/** So much longer a pod that is to end goes on, in seconds: until everybody knows that its webhooks are not to be asked any more. */
const LEAVING_SECONDS = 3;

/** The CustomResourceDefinitions, one object each. */
export function crdManifests(): Manifest[] {
  return customResourceDefinitions(OPERATOR_NAMESPACE) as unknown as Manifest[];
}

/**
 * Everything else that installs the operator: namespace, account, rights and their limits, Deployment.
 * @param image the operator's image, with tag
 * @param secrets where it may read and write the Secrets of clusters
 */
export function operatorManifests(image: string, secrets: SecretsReach = "everywhere"): Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: OPERATOR_NAMESPACE, labels: { ...LABELS, "pod-security.kubernetes.io/enforce": "restricted" } },
    } as Manifest,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: own(OPERATOR) },
    ...rights(secrets),
    ...(admissionPolicy(OPERATOR_USER, image, LABELS) as unknown as Manifest[]),
    ...(conversionPolicy(LABELS) as unknown as Manifest[]),
    ...(marksPolicy(OPERATOR_USER, LABELS) as unknown as Manifest[]),
    leaseFlow(),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: own(OPERATOR),
      // Drains take one after the other; `maxUnavailable`, so that they go on where somebody runs only one.
      spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: SELECTOR } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: own(WEBHOOKS),
      spec: { selector: SELECTOR, ports: [{ name: "webhooks", port: 443, targetPort: "webhooks" }] },
    } as unknown as Manifest,
    webhookConfiguration(),
    deployment(image),
  ];
}

/**
 * Who is asked about EtcdClusters. Whom to trust then (`caBundle`) is written by the operator; since it does not stand here, whoever
 * applies this again leaves it as it is.
 */
function webhookConfiguration(): Manifest {
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
        // What decides about data is in the schema. Without an operator people can do all that they can with one.
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

/** Annotations that say something to the operator, and may say it wrongly. */
const JUDGED = [DRY_RUN_ANNOTATION, ROTATE_CA_ANNOTATION, WAIVE_ANNOTATION];

function isOther(annotation: string): string {
  const of = (object: string) => `${object}.metadata.?annotations[?'${annotation}'].orValue('')`;
  return `${of("object")} != ${of("oldObject")}`;
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
          // No priorityClassName: some providers refuse system-cluster-critical outside of kube-system, and no pod would start.
          terminationGracePeriodSeconds: 15,
          affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [otherNode()] } },
          tolerations: ["not-ready", "unreachable"].map((why) => ({
            key: `node.kubernetes.io/${why}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: LOST_NODE_SECONDS,
          })),
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
              args: [`--http-port=${HTTP_PORT}`, `--webhook-port=${WEBHOOK_PORT}`, `--metrics-port=${METRICS_PORT}`],
              env: [
                { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
                // What the pods of backups run, and the policy lets them run nothing else.
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

/** Preferred, so that two run on a cluster of one node too. The hash leaves out the pods that a rollout is about to end. */
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
