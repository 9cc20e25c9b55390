import { z } from "zod";
import { DEFAULT_AGENT_RESOURCES } from "#api/agent-resources.ts";
import {
  ATOMIC,
  keysExcluded,
  MAX_ANNOTATION_LENGTH,
  MAX_LABEL_LENGTH,
  mapBy,
  OWN_KEY,
  resourcesSchema,
} from "#api/common-schema.ts";
import { backupLabels, GROUP, restoreLabels } from "#api/names.ts";
import { APP_ARMOR_PREFIX } from "#api/pod-template/reserved-confinement.ts";
import { SYSTEM_PRIORITY } from "#api/pod-template/reserved-power.ts";
import { urlSchema } from "#api/v1beta1/reference-schema.ts";

// Why a closed list of fields, and not a whole pod as for members?
//   These pods mount Secrets of stores and may have a cloud identity, so they run fixed programs only.
// Why may a restore not choose nodes?
//   Its pods run where the members can run. A volume is provisioned on the node of its first pod and stays there.

/** Maximum number of items in a list: more than pods need. */
const MAX_ITEMS = 16;
/** Maximum number of labels in a node selector: more than pods need. */
const MAX_NODE_LABELS = 32;
/** Kubernetes limit of a label's key, in characters. */
const MAX_KEY_LENGTH = 317;
/** Maximum length of a list of hosts, in characters. */
const MAX_NO_PROXY_LENGTH = 4_096;
/** Largest user or group ID that Kubernetes accepts. */
const MAX_ID = 2_147_483_647;

const name = z.string().min(1).max(253);

const serviceAccountName = (more: string) =>
  name
    .optional()
    .describe(
      `Service account of the namespace, for clouds that give the account an identity. The pods get no token of Kubernetes.${more}`,
    );

const priorityClassName = name
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `!self.startsWith('${SYSTEM_PRIORITY}')`,
        messageExpression: `'priorityClassName is ' + self + '; it must not begin with ${SYSTEM_PRIORITY}, which is for components of Kubernetes'`,
        message: `priorityClassName must not begin with ${SYSTEM_PRIORITY}, which is for components of Kubernetes`,
      },
    ],
  })
  .optional()
  .describe("As in a Pod.");

const proxyURL = urlSchema("http://proxy.example.com:3128").optional();

/** Schema of the proxy variables. Other variables could change what the agent's program does. */
const proxy = z
  .object({
    httpsProxy: proxyURL.describe(
      "Proxy for requests to https:// URLs, as HTTPS_PROXY. The URL must not have a user and password.",
    ),
    httpProxy: proxyURL.describe("Proxy for requests to http:// URLs, as HTTP_PROXY."),
    noProxy: z
      .string()
      .max(MAX_NO_PROXY_LENGTH)
      .optional()
      .describe(
        "Hosts, domains and addresses that are reached without a proxy, separated by commas, as NO_PROXY. Loopback and the metadata servers of clouds are always reached without one.",
      ),
  })
  .optional()
  .describe("Proxies between the pods and the store. Connections to etcd use none.");

const { requests, limits } = DEFAULT_AGENT_RESOURCES;
const resources = (more: string) =>
  resourcesSchema
    .optional()
    .describe(
      `Compute resources of the operator's own containers, as in a Pod. They need not grow with the data. Without it, or if it is empty, requests of ${requests.cpu} CPU and ${requests.memory} memory, and a limit of ${limits.memory}.${more}`,
    );

const imagePullSecrets = z
  .array(z.object({ name: name.describe("Name of a Secret in the same namespace.") }))
  .max(MAX_ITEMS)
  .optional()
  .meta(mapBy("name"))
  .describe("Secrets for pulling the operator's image, as in a Pod.");

const nodeSelector = z
  .record(z.string(), z.string().max(MAX_LABEL_LENGTH))
  .optional()
  .meta({ maxProperties: MAX_NODE_LABELS })
  .describe("As in a Pod.");

const tolerations = z
  .array(
    z.object({
      key: z.string().max(MAX_KEY_LENGTH).optional(),
      operator: z.enum(["Exists", "Equal"]).optional(),
      value: z.string().max(MAX_LABEL_LENGTH).optional(),
      effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
      tolerationSeconds: z.number().int().optional(),
    }),
  )
  .max(MAX_ITEMS)
  .optional()
  .meta(ATOMIC)
  .describe("As in a Pod.");

/** Schema of a user or group ID. With null the platform chooses it, such as OpenShift. */
const id = (min: number) => z.number().int().min(min).max(MAX_ID).nullable().optional();

const securityContext = z
  .object({
    runAsUser: id(1).describe("User ID of the processes; never root. null: the platform chooses."),
    runAsGroup: id(0).describe("Group ID of the processes. null: the platform chooses."),
    fsGroup: id(0).describe("Group ID of the files in volumes. null: the platform chooses."),
  })
  .optional()
  .describe("User and group IDs. An ID that is not set is that of the EtcdCluster's members, by default 65532.");

/** Labels that the operator or the Job controller sets on pods of Jobs, except those found by their prefix. */
const JOB_LABELS = [
  ...new Set(
    Object.keys({ ...backupLabels("", ""), ...restoreLabels("", "") }).filter((key) => !key.startsWith(`${GROUP}/`)),
  ),
  ...["controller-uid", "job-name"],
];

const labels = keysExcluded(
  MAX_LABEL_LENGTH,
  `${OWN_KEY} || key.startsWith('batch.kubernetes.io/') || key in [${JOB_LABELS.map((key) => `'${key}'`).join(", ")}]`,
  "is a label that the operator or the Job controller sets; leave it out",
  `these keys of labels are reserved: ${JOB_LABELS.join(", ")}, and those that start with ${GROUP}/ or batch.kubernetes.io/`,
);

const annotations = keysExcluded(
  MAX_ANNOTATION_LENGTH,
  `${OWN_KEY} || key.startsWith('${APP_ARMOR_PREFIX}')`,
  "is a reserved annotation; leave it out",
  `keys of annotations that start with ${GROUP}/ or ${APP_ARMOR_PREFIX} are reserved`,
);

/** @param of the pods, for the descriptions */
function metadataSchema(of: string) {
  return z
    .object({
      labels: labels.describe(`Labels of ${of}, such as azure.workload.identity/use: "true".`),
      annotations: annotations.describe(`Annotations of ${of}.`),
    })
    .optional();
}

/** Schema of the pods that take, verify and delete a backup. */
export const backupPodSchema = z
  .object({
    metadata: metadataSchema("these pods"),
    spec: z
      .object({
        serviceAccountName: serviceAccountName(""),
        nodeSelector,
        tolerations,
        affinity: z.looseObject({}).optional().describe("As in a Pod."),
        securityContext,
        proxy,
        priorityClassName,
        resources: resources(" The containers with etcd in the pod that verifies have etcdResources instead."),
        etcdResources: resourcesSchema
          .optional()
          .describe(
            "Compute resources of the two containers with etcd in the pod that verifies. Without it, or if it is empty, the limits are those of the EtcdCluster's members, or else fit the snapshot's size. Ephemeral storage for the files is requested, too.",
          ),
        imagePullSecrets,
      })
      .optional(),
  })
  .optional()
  .describe(
    "Additions to the pods that take, verify and delete the backup. Without nodeSelector, tolerations and affinity they run on the nodes of the EtcdCluster's members.",
  );

/** Schema of the pods that fill the claims of a restore. */
export const restorePodSchema = z
  .object({
    metadata: metadataSchema("these pods, and not of members"),
    spec: z
      .object({
        serviceAccountName: serviceAccountName(
          " Refused together with image.repository or image.digest of the cluster: that image would run with the identity.",
        ),
        proxy,
        priorityClassName,
        resources: resources(" The containers with etcd's image have those of the members."),
        imagePullSecrets,
      })
      .optional(),
  })
  .optional()
  .describe(
    "Additions to the pods that fill the claims of members, one for each. They run where the cluster's own podTemplate lets members run.",
  );
