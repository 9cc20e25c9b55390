import { GROUP, OPERATOR } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "#kube/kinds.ts";
import { SELF_TEST_CLAIM, SELF_TEST_CLUSTER } from "../../src/bin/self-test.ts";
import { mark } from "./template.ts";

// Objects of `helm test`: a pod of the operator's image with an account of its own. The account may make, read and
// delete one EtcdCluster and the claim of its member, by name, in one namespace. Helm creates the objects for the test
// alone, and deletes them after a success.

const NAME = `${OPERATOR}-test`;
/** Not the operator's labels: its Service and NetworkPolicy would select the pod. */
const LABELS = { "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": OPERATOR };
const RBAC = "rbac.authorization.k8s.io";

/** @param weight order of creation, smallest first */
function metadata(namespace: string, weight: number) {
  const annotations = {
    "helm.sh/hook": "test",
    "helm.sh/hook-weight": String(weight),
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
  };
  return { name: NAME, namespace, labels: LABELS, annotations };
}

/** The objects, with marks for the namespaces and the image. */
export function selfTestObjects(): readonly object[] {
  const [own, tested] = [mark("NAMESPACE"), mark("TEST_NAMESPACE")];
  const rules = [
    { apiGroups: [GROUP], resources: [ETCD_CLUSTERS.plural], verbs: ["create"] },
    {
      apiGroups: [GROUP],
      resources: [ETCD_CLUSTERS.plural],
      resourceNames: [SELF_TEST_CLUSTER],
      verbs: ["get", "delete"],
    },
    {
      apiGroups: [""],
      resources: [PERSISTENT_VOLUME_CLAIMS.plural],
      resourceNames: [SELF_TEST_CLAIM],
      verbs: ["get", "delete"],
    },
  ];
  const subjects = [{ kind: "ServiceAccount", name: NAME, namespace: own }];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(own, -2) },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: metadata(tested, -2), rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: metadata(tested, -1),
      roleRef: { apiGroup: RBAC, kind: "Role", name: NAME },
      subjects,
    },
    { apiVersion: "v1", kind: "Pod", metadata: metadata(own, 0), spec: podSpec() },
  ];
}

function podSpec() {
  return {
    serviceAccountName: NAME,
    restartPolicy: "Never",
    // A test that is stopped deletes its cluster and claim first.
    terminationGracePeriodSeconds: 100,
    imagePullSecrets: mark("PULL_SECRETS"),
    nodeSelector: mark("NODE_SELECTOR"),
    tolerations: mark("TEST_TOLERATIONS"),
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "self-test",
        image: mark("IMAGE"),
        imagePullPolicy: mark("PULL_POLICY"),
        args: [
          "self-test",
          `--namespace=${mark("TEST_NAMESPACE")}`,
          `--timeout=${mark("TEST_TIMEOUT")}`,
          `--storage-class=${mark("TEST_STORAGE_CLASS")}`,
        ],
        resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "256Mi" } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
      },
    ],
  };
}
