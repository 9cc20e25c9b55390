import { z } from "zod";
import { annotationsSchema, labelsSchema, resourcesSchema } from "#api/common-schema.ts";

/** More containers or volumes in one pod than anybody runs; the API server needs a bound to know what a rule costs. */
const MAX_CONTAINERS = 16;

const HOST = "([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[[][0-9A-Fa-f:]+[]])(:[0-9]+)?";
const PART = "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*";
/** An image's name without tag, as container runtimes read it; the API server takes anything, and then no pod starts. */
const REPOSITORY = `^(${HOST}/)?${PART}(/${PART})*$`;

export const imageSchema = z
  .object({
    repository: z
      .string()
      .min(1)
      .max(255)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: `self.matches('${REPOSITORY}')`,
            messageExpression:
              "'repository is ' + self + '; it must be an image without scheme, tag and digest, such as registry.example/etcd'",
            message: "repository must be an image without scheme, tag and digest, such as registry.example/etcd",
          },
        ],
      })
      .optional()
      .describe(
        "Where the image is, without tag, such as registry.example/etcd. Without it the operator's --etcd-repository.",
      ),
    digest: z
      .string()
      .max(128)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self.matches('^sha256:[0-9a-f]{64}$')",
            messageExpression: "'digest is ' + self + '; it must be sha256: and 64 hexadecimal digits'",
            message: "digest must be sha256: and 64 hexadecimal digits",
          },
        ],
      })
      .optional()
      .describe("Which image, instead of the tag vVERSION. Give the spec.version that it holds, too."),
    pullPolicy: z
      .enum(["Always", "IfNotPresent", "Never"])
      .optional()
      .describe("As of a container. Without it IfNotPresent."),
    pullSecrets: z
      .array(z.object({ name: z.string().min(1).max(253).describe("Name of a Secret in the same namespace.") }))
      .max(MAX_CONTAINERS)
      .optional()
      .describe("With what the image is pulled, as imagePullSecrets of a Pod."),
  })
  .describe("The image of etcd. A change restarts members one after another.");

/** What a container may say is what a Pod may say; of etcd's own, resources are looked at before the API server does. */
const containerSchema = z.looseObject({
  name: z.string().min(1).max(63).describe("etcd is the operator's container; any other name is one beside it."),
  resources: resourcesSchema.optional().describe("Compute resources, as in a Pod."),
});

export const podTemplateSchema = z
  .object({
    metadata: z
      .object({
        labels: labelsSchema.describe("Labels for each member's pod."),
        annotations: annotationsSchema.describe("Annotations for each member's pod."),
      })
      .optional(),
    spec: z
      .looseObject({
        containers: z
          .array(containerSchema)
          .max(MAX_CONTAINERS)
          .optional()
          .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
          .describe("Containers, merged by name."),
        affinity: z
          .looseObject({})
          .optional()
          .describe("As of a Pod. It replaces the default, which spreads members over nodes and zones."),
      })
      .optional()
      .describe("The spec of a Pod, merged into the operator's own as kubectl patch would."),
  })
  .describe(
    "What the pods of members look like, beyond what the operator sets. A change restarts members one after another.",
  );
