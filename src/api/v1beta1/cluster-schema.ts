import { z } from "zod";
import {
  ATOMIC,
  annotationsSchema,
  durationSchema,
  labelsSchema,
  replicasSchema,
  versionSchema,
} from "#api/common-schema.ts";
import { AUTH_NEEDS_CERTIFICATES, authSchema } from "#api/v1beta1/auth-schema.ts";
import { etcdSchema } from "#api/v1beta1/etcd-schema.ts";
import { givenMetadataSchema } from "#api/v1beta1/given-metadata-schema.ts";
import { networkPolicySchema } from "#api/v1beta1/network-policy-schema.ts";
import { imageSchema, podTemplateSchema } from "#api/v1beta1/pod-schema.ts";
import { imageIsKnown, RESTORE_FIELDS } from "#api/v1beta1/restore-source-schema.ts";
import { DEFAULT_STORAGE_SPEC, storageSchema } from "#api/v1beta1/storage-schema.ts";
import { clusterTlsSchema, TLS_STAYS } from "#api/v1beta1/tls-schema.ts";

/** Bound on the list of admitted ranges; clouds admit fewer. */
const MAX_SOURCE_RANGES = 64;

const clientServiceSchema = z
  .object({
    metadata: z
      .object({
        labels: labelsSchema.describe("Labels of the Service."),
        annotations: annotationsSchema.describe("Annotations of the Service, such as those that load balancers read."),
      })
      .optional(),
    spec: z
      .object({
        type: z
          .enum(["ClusterIP", "NodePort", "LoadBalancer"])
          .default("ClusterIP")
          .describe(
            "As in a Service. Members without TLS should not be reachable from outside of the Kubernetes cluster.",
          ),
        trafficDistribution: z
          .enum(["PreferClose", "PreferSameZone", "PreferSameNode"])
          .optional()
          .describe("Which members the Service prefers for a client, as in a Service. Without it, any member."),
        appProtocol: z
          .string()
          .max(253)
          .regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/)
          .optional()
          .describe("Protocol of the client port, for meshes and gateways, such as kubernetes.io/h2c or https."),
        ipFamilyPolicy: z
          .enum(["SingleStack", "PreferDualStack", "RequireDualStack"])
          .optional()
          .describe("As in a Service. Without it, Kubernetes chooses. Members listen on IPv4 and IPv6."),
        ipFamilies: z
          .array(z.enum(["IPv4", "IPv6"]))
          .min(1)
          .max(2)
          .meta(ATOMIC)
          .optional()
          .describe("As in a Service. The first one cannot be changed later. Without it, Kubernetes chooses."),
        nodePort: z
          .number()
          .int()
          .min(1)
          .max(65_535)
          .optional()
          .describe("Port of every node, with type NodePort or LoadBalancer. Without it, Kubernetes chooses one."),
        loadBalancerClass: z
          .string()
          .min(1)
          .max(317)
          .optional()
          .describe("As in a Service. It cannot be changed while the type is LoadBalancer."),
        loadBalancerSourceRanges: z
          .array(z.string().min(1).max(64).meta({ format: "cidr" }))
          .min(1)
          .max(MAX_SOURCE_RANGES)
          .meta(ATOMIC)
          .optional()
          .describe("Client addresses that the load balancer admits, such as 192.0.2.0/24. Without it, all."),
      })
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self.type != 'ClusterIP' || !has(self.nodePort)",
            message: "nodePort is given, and type is ClusterIP; it may be given with type NodePort or LoadBalancer",
          },
          ...["loadBalancerClass", "loadBalancerSourceRanges"].map((field) => ({
            rule: `self.type == 'LoadBalancer' || !has(self.${field})`,
            message: `${field} is given; it may be given only with type LoadBalancer`,
          })),
        ],
      })
      .default({ type: "ClusterIP" })
      .describe("The part of the Service's spec that may be chosen."),
  })
  .describe("The Service NAME-client, which leads clients to members. An edit takes effect at once.");

const updateStrategySchema = z
  .object({
    type: z
      .enum(["RollingUpdate", "OnDelete"])
      .default("RollingUpdate")
      .describe(
        "RollingUpdate: members are restarted one after another. OnDelete: a member gets the new spec when its pod is deleted. The operator itself restarts only a member that it rolls back, and Ready does not wait for deletions.",
      ),
    memberTimeout: durationSchema("10s", "24h")
      .optional()
      .describe(
        "How long a member may take to become healthy after its start, such as 10m. If the first member of an update takes longer, it is rolled back and the update stops, with OnDelete too. Without it the operator's --member-timeout.",
      ),
  })
  .describe("How a running cluster is changed.");

const replacementSchema = z
  .object({
    policy: z
      .enum(["WhenLost", "Never"])
      .default("WhenLost")
      .describe(
        "WhenLost: the operator replaces a member that has been lost for `after`. Never: it waits without limit. With either policy it replaces a member with a missing or wrong claim or data.",
      ),
    after: durationSchema("0s", "24h")
      .optional()
      .describe(
        "How long a member may be lost before it is replaced, such as 5m. Without it the operator's --replace-after.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self.policy != 'Never' || !has(self.after)",
        messageExpression: "'after is ' + self.after + ', and policy is Never; give after only with policy WhenLost'",
        message: "after may be given only with policy WhenLost",
      },
    ],
  })
  .describe("When a lost member is replaced by a new one.");

const disruptionBudgetSchema = z
  .object({
    policy: z
      .enum(["Quorum", "None"])
      .default("Quorum")
      .describe(
        "Quorum: a PodDisruptionBudget lets drains evict members as long as a quorum stays. One or two members have none to spare: there a drain evicts one member at a time, and clients wait until it has started again. None: there is no budget, and an update does not hold drains back; limit evictions by other means.",
      ),
  })
  .describe("How far drains and autoscalers may evict members.");

const bootstrapSchema = z
  .object({
    fromBackup: z
      .object(RESTORE_FIELDS)
      .optional()
      .describe(
        "The cluster starts with the data of a stored snapshot: the operator makes an EtcdRestore with the cluster's name and waits for it. Claims left by an earlier cluster of this name take precedence.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self == oldSelf",
        message: "bootstrap cannot be changed after creation. Remove it, or create another EtcdCluster.",
      },
      {
        rule: "[has(self.fromBackup)].exists_one(each, each)",
        message: "bootstrap must have fromBackup, the data with which the cluster starts",
      },
    ],
  })
  .describe("The data with which a new cluster starts; without it, none. It is read only when the cluster is created.");
const monitoringSchema = z
  .object({
    podMonitor: z
      .object({
        enabled: z
          .boolean()
          .describe(
            "Whether there is a PodMonitor. Where the API server does not know the kind, the condition Monitored reports it.",
          ),
        metadata: z
          .object({
            labels: labelsSchema.describe(
              "Labels of the PodMonitor, such as the one by which a Prometheus selects it.",
            ),
            annotations: annotationsSchema.describe("Annotations of the PodMonitor."),
          })
          .optional(),
      })
      .optional()
      .describe(
        "The PodMonitor (monitoring.coreos.com/v1) of the cluster's name, which leads a Prometheus to the members' metrics. Without it there is none.",
      ),
  })
  .describe("Monitoring of the members.");

export const clusterSpecSchema = z
  .object({
    replicas: replicasSchema,
    version: versionSchema,
    image: imageSchema.optional(),
    storage: storageSchema.default(DEFAULT_STORAGE_SPEC),
    bootstrap: bootstrapSchema.optional(),
    etcd: etcdSchema.optional(),
    tls: clusterTlsSchema.optional(),
    auth: authSchema.optional(),
    podTemplate: podTemplateSchema.default({}),
    clientService: clientServiceSchema.default({ spec: { type: "ClusterIP" } }),
    clientSecret: givenMetadataSchema("Secret", "NAME-client, which applications mount").optional(),
    caConfigMap: givenMetadataSchema("ConfigMap", "NAME-ca, with the CAs that clients trust").optional(),
    updateStrategy: updateStrategySchema.default({ type: "RollingUpdate" }),
    replacement: replacementSchema.optional(),
    disruptionBudget: disruptionBudgetSchema.default({ policy: "Quorum" }),
    networkPolicy: networkPolicySchema.optional(),
    monitoring: monitoringSchema.optional(),
    paused: z
      .boolean()
      .default(false)
      .describe(
        "The operator only reports, and renews certificates that are about to end; no member restarts. The annotation etcd.improbable.io/paused does the same.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.bootstrap) || has(oldSelf.bootstrap)",
        message: "bootstrap cannot be given to a cluster that exists; make another cluster",
      },
      imageIsKnown("self.?bootstrap.?fromBackup.?podTemplate", "self.?image", "bootstrap.fromBackup.podTemplate"),
      ...TLS_STAYS,
      ...AUTH_NEEDS_CERTIFICATES,
    ],
  })
  .describe("Desired state of the etcd cluster.");
