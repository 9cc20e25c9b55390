import { z } from "zod";
import { ETCD_REPOSITORY } from "#api/names.ts";
import { MAX_NAMESPACES } from "../../src/bin/permissions.ts";
import { OPERATOR_REPLICAS, OPERATOR_RESOURCES } from "../manifests.ts";

// Values of the chart: their schema, defaults and descriptions. values.yaml and values.schema.json are made from it.

const map = z.record(z.string(), z.unknown());
const list = z.array(map);
/** A repository as in an image reference, without tag. */
const repository = z.string().regex(/^[a-z0-9.:[\]-]+(\/[a-z0-9._-]+)*$/);

/** Name of a namespace. */
const namespace = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

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
          .min(1)
          .default(image.slice(colon + 1))
          .describe("Tag of the image."),
        digest: z
          .string()
          .regex(/^(sha256:[0-9a-f]{64})?$/)
          .default("")
          .describe("Digest of the image, such as sha256:…; when set, the tag is not used."),
        pullPolicy: z.enum(["Always", "IfNotPresent", "Never"]).default("IfNotPresent"),
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
      .describe("Replicas; with --shards one for each shard."),
    extraArgs: z
      .array(z.string().regex(/^--[a-z-]+(=.*)?$/))
      .default([])
      .describe("Further flags of the operator, such as --shards=3. `operator --help` lists them."),
    resources: map.default(OPERATOR_RESOURCES).describe("Compute resources of the operator's container."),
    priorityClassName: z.string().default("").describe("Priority class of the operator's pods."),
    nodeSelector: z.record(z.string(), z.string()).default({}).describe("Labels of nodes for the operator's pods."),
    tolerations: list.default([]).describe("Added to the tolerations that evict pods from lost nodes early."),
    affinity: map.default({}).describe("Replaces the affinity by which replicas run on different nodes."),
    watchNamespaces: z
      .array(namespace)
      .max(MAX_NAMESPACES)
      .default([])
      .describe(
        "The only namespaces in which the operator reads and manages objects; they must exist. It gets Roles there. Empty: all.",
      ),
    secretsOf: z
      .array(namespace)
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
      .strictObject({ enabled: z.boolean().default(true) })
      .prefault({})
      .describe("The NetworkPolicy that admits traffic to the operator's ports only."),
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
            "Keeps the definitions, and so all clusters, when the release is uninstalled. With false, delete all objects first: the operator removes their finalizers.",
          ),
      })
      .prefault({}),
  });
}
