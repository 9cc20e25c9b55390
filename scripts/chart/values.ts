import { z } from "zod";
import { ETCD_REPOSITORY } from "#api/names.ts";
import { LOG_LEVELS } from "#base/log.ts";
import { MAX_NAMESPACES, MAX_SHARDS } from "../../src/bin/permissions.ts";
import { OPERATOR_REPLICAS, OPERATOR_RESOURCES } from "../manifests.ts";

// Values of the chart: their schema, defaults and descriptions. values.yaml and values.schema.json are made from it.

const map = z.record(z.string(), z.unknown());
const list = z.array(map);
/** A repository as in an image reference, without tag. */
const repository = z.string().regex(/^[a-z0-9.:[\]-]+(\/[a-z0-9._-]+)*$/);

/** A tag of images, which an admission policy quotes: https://github.com/opencontainers/distribution-spec */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
/** Empty, or a DNS subdomain, as most names in Kubernetes are. */
const NAME_OR_EMPTY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$/;

const DURATION = /^([0-9]+(ms|s|m|h))+$/;
/** A flag with a duration; empty leaves it out. */
const duration = z.union([z.literal(""), z.string().regex(DURATION)]).default("");
/** A flag with a number; 0 leaves it out. */
const count = (max: number) => z.int().min(0).max(max).default(0);
/** Name of a namespace. */
const namespace = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

/** Namespaces, each named once: the chart renders objects for each. */
const namespaces = z.array(namespace).meta({ uniqueItems: true });

/** Labels by which a Prometheus selects an object. @param what the object, in the description */
const labels = (what: string) =>
  z.record(z.string(), z.string()).default({}).describe(`Labels by which your Prometheus selects the ${what}.`);

/** @param image the operator's image, with tag */
export function valuesSchema(image: string) {
  const colon = image.lastIndexOf(":");
  return z.strictObject({
    global: map.optional().describe("Values of a parent chart, which the chart does not use."),
    image: z
      .strictObject({
        repository: repository.default(image.slice(0, colon)).describe("Repository of the operator's image."),
        tag: z
          .string()
          .regex(TAG)
          .default(image.slice(colon + 1))
          .describe("Tag of the image."),
        digest: z
          .string()
          .regex(/^(sha256:[0-9a-f]{64})?$/)
          .default("")
          .describe("Digest of the image, such as sha256:…; when set, the tag is not used."),
        pullPolicy: z
          .enum(["Always", "IfNotPresent", "Never"])
          .default("IfNotPresent")
          .describe("When the kubelet pulls the image."),
        pullSecrets: z
          .array(z.strictObject({ name: z.string().min(1) }))
          .default([])
          .describe(
            "Secrets of the release's namespace for a registry that needs a login. Backup pods need their own.",
          ),
      })
      .prefault({})
      .describe("The operator's image, which backup pods run, too."),
    replicas: z
      .int()
      .min(0)
      .max(100)
      .default(OPERATOR_REPLICAS)
      .describe("Replicas of the operator; with shards one for each shard."),
    shards: z
      .int()
      .min(0)
      .max(MAX_SHARDS)
      .default(0)
      .describe("Number of parts into which the clusters are divided among the replicas. 0 or 1: one replica acts."),
    flags: z
      .strictObject({
        replaceAfter: duration.describe("How long a member may be lost before it is replaced. Empty: 5m."),
        memberTimeout: duration.describe(
          "How long the first restarted member of an update may take to become healthy. Empty: 10m.",
        ),
        rereadWithin: duration.describe(
          "How long applications may take to reload ca.crt and their certificate. Empty: 150s.",
        ),
        runningBackups: z
          .literal(0)
          .or(z.int().min(3).max(10_000))
          .default(0)
          .describe("Number of backups that run at the same time, 3 to 10000. 0: the default, 20."),
        workers: count(1_000).describe("Concurrent passes per controller. 0: 100."),
        kubeRequestsPerSecond: count(10_000).describe("Mean rate of requests to the API server. 0: 500."),
        logLevel: z
          .enum(["", ...LOG_LEVELS])
          .default("")
          .describe("Least level of logged lines. Empty: info."),
      })
      .prefault({})
      .describe("Flags of the operator. `operator --help` describes them."),
    extraArgs: z
      .array(z.string().regex(/^--[a-z-]+(=.*)?$/))
      .default([])
      .describe("Further flags of the operator, such as --insecure-metrics. `operator --help` lists them."),
    resources: map.default(OPERATOR_RESOURCES).describe("Compute resources of the operator's container."),
    priorityClassName: z.string().default("").describe("Priority class of the operator's pods."),
    nodeSelector: z.record(z.string(), z.string()).default({}).describe("Labels of nodes for the operator's pods."),
    tolerations: list.default([]).describe("Added to the tolerations that evict pods from lost nodes early."),
    affinity: map.default({}).describe("Replaces the affinity by which replicas run on different nodes."),
    watchNamespaces: namespaces
      .max(MAX_NAMESPACES)
      .meta({ uniqueItems: true })
      .default([])
      .describe(
        "The only namespaces in which the operator reads and manages objects; they must exist. It gets Roles there. Empty: all.",
      ),
    secretsOf: namespaces
      .default([])
      .describe(
        "Namespaces in which the operator may read and write Secrets of clusters; they must exist. Empty: all that it watches.",
      ),
    etcdRepositories: z
      .array(repository)
      .min(1)
      .default([ETCD_REPOSITORY])
      .describe(
        "Repositories of etcd's images. Members get the first. Jobs with a service account may run images of all.",
      ),
    networkPolicy: z
      .strictObject({ enabled: z.boolean().default(true).describe("Installs it.") })
      .prefault({})
      .describe("The NetworkPolicy that admits traffic to the operator's ports only."),
    monitoring: z
      .strictObject({
        podMonitor: z
          .strictObject({
            enabled: z.boolean().default(false).describe("Installs them."),
            labels: labels("PodMonitor"),
          })
          .prefault({})
          .describe("A PodMonitor of the operator's metrics, and an account for Prometheus that may read only these."),
        prometheusRule: z
          .strictObject({ enabled: z.boolean().default(false).describe("Installs it."), labels: labels("rules") })
          .prefault({})
          .describe("The alerts, as a PrometheusRule."),
        dashboards: z
          .strictObject({ enabled: z.boolean().default(false).describe("Installs it.") })
          .prefault({})
          .describe("The dashboards, in a ConfigMap that the sidecar of Grafana's chart reads."),
      })
      .prefault({})
      .describe("Monitoring. The kinds PodMonitor and PrometheusRule need the Prometheus operator."),
    rolesForPeople: z
      .boolean()
      .default(true)
      .describe("Adds rights to the operator's kinds to Kubernetes' ClusterRoles view, edit and admin."),
    crds: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .describe("Installs the definitions. Without them the operator does not start."),
        keep: z
          .boolean()
          .default(true)
          .describe(
            "Keeps the definitions, and so all clusters, when the release is uninstalled. With false Helm deletes those that you annotated with etcd.improbable.io/allow-deletion=true, and reports the others as refused.",
          ),
      })
      .prefault({})
      .describe("The CustomResourceDefinitions."),
    test: z
      .strictObject({
        namespace: z
          .union([z.literal(""), namespace])
          .default("")
          .describe("Namespace of the test's EtcdCluster. Empty: the first of watchNamespaces, or the release's."),
        timeout: z
          .string()
          .regex(DURATION)
          .default("4m")
          .describe(
            "Time until the EtcdCluster must be Ready. Helm itself waits 5m; --timeout of `helm test` changes that.",
          ),
        storageClassName: z
          .string()
          .regex(NAME_OR_EMPTY)
          .default("")
          .describe("Storage class of its member. Empty: the default class."),
      })
      .prefault({})
      .describe("`helm test` makes an EtcdCluster of one member, waits until it is Ready, and deletes it."),
  });
}
